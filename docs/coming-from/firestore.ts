import { PreconditionFailedError, SvcClient } from '@svc-runtime/client';

const client = new SvcClient();
const claims = { tenantId: 'acme', documentType: 'claims', schemaVersion: '1' };

// set: a document, a unique name and an event, all or nothing.
const created = await client.commitCanonicalTransaction('acme', {
  idempotencyKey: 'claim-1042-report',
  mutations: [
    {
      document: {
        ...claims,
        id: '1042',
        data: { status: 'reported', cents: 125_000 },
        indexes: { status: 'reported' },
      },
      precondition: { mustNotExist: true },
    },
  ],
  fences: [
    {
      operation: 'claim',
      name: 'policy',
      value: 'P-77',
      ownerDocumentType: 'claims',
      ownerDocumentId: '1042',
    },
  ],
  outbox: [{ topic: 'claim.reported', key: '1042', payload: { claim: '1042' } }],
});
console.log(created.documents[0]?.revision); // => 1

// runTransaction: read, change, write if no other write came between.
async function approve(id: string): Promise<number | undefined> {
  for (;;) {
    const claim = await client.getCanonicalDocument('acme', { documentType: 'claims', id });
    const document = {
      ...claims,
      id,
      data: { ...claim.data, status: 'approved' },
      indexes: { status: 'approved' },
    };
    try {
      const { documents } = await client.commitCanonicalTransaction('acme', {
        idempotencyKey: `claim-${id}-approve-${claim.revision}`,
        mutations: [{ document, precondition: { expectedRevision: claim.revision } }],
      });
      return documents[0]?.revision;
    } catch (error) {
      if (!(error instanceof PreconditionFailedError)) throw error;
    }
  }
}
console.log(await approve('1042')); // => 2

// where('status', '==', …): by a projected index.
const approved = client.queryCanonicalDocuments('acme', {
  documentType: 'claims',
  indexes: { status: 'approved' },
});
for await (const { id, data } of approved) console.log(id, data?.['cents']); // => 1042 125000

// onSnapshot, Cloud Functions triggers: the outbox, delivered at least once, also after an outage.
const leases = await client.leaseCanonicalOutbox('acme', { consumerId: 'mails-1' });
for (const { event } of leases) console.log(event.topic, JSON.stringify(event.payload));
// => claim.reported {"claim":"1042"}
