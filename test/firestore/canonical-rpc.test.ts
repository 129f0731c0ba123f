import { afterAll, describe, expect, test } from 'vitest';
import { collections } from '../../functions/groups/canonical/records.ts';
import { TenantClient } from '../support/canonical.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { openTestStore } from './fixtures.ts';
import { countRpcs } from './rpc-counter.ts';

/** Counts the calls of each operation alone: the promise is two calls per commit. */
describe.skipIf(firestoreMissing !== undefined)(`operations on Firestore ${firestoreMissing ?? ''}`, () => {
  const { store, client } = openTestStore({ collections });
  const rpcs = countRpcs(client);
  afterAll(() => store.close());

  test('a commit is two calls, however much it touches; its replay is two reads', async () => {
    const tenant = new TenantClient(store);
    await tenant.commit({ mutations: [tenant.upsert('old')] });
    const whole = {
      idempotencyKey: 'whole',
      mutations: [
        tenant.upsert('old', { n: 2 }),
        tenant.upsert('new', {}, { precondition: { mustNotExist: true }, indexes: { status: 'open' } }),
      ],
      fences: [
        {
          operation: 'claim' as const,
          name: 'n',
          value: 'v',
          ownerDocumentType: 'claim',
          ownerDocumentId: 'new',
        },
      ],
      outbox: [{ topic: 't', key: 'k' }],
    };
    rpcs.take();
    await tenant.commit(whole);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, commit: 1 });
    expect((await tenant.commit(whole)).replayed).toBe(true);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 2 });
  });

  test('a read is one call, revisions one query beside a read of the head', async () => {
    const tenant = new TenantClient(store);
    await tenant.commit({ mutations: [tenant.upsert('a')] });
    rpcs.take();
    await tenant.read('claim', 'a');
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1 });
    await tenant.revisions('claim', 'a');
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 1 });
  });

  test('a lease is three calls for any number of events, an acknowledgement two', async () => {
    const tenant = new TenantClient(store);
    await tenant.commit({ outbox: [1, 2, 3].map((n) => ({ topic: 't', key: `${n}` })) });
    rpcs.take();
    const leases = await tenant.lease({ maxItems: 3 });
    expect(leases).toHaveLength(3);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 1, batchWrite: 1 });
    await tenant.ack(leases[0]?.event.id ?? '', leases[0]?.leaseToken ?? '');
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, commit: 1 });
  });
});
