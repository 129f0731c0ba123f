import { decideCommit, planCommit } from '../functions/groups/canonical/commit/commit.ts';
import { readCommitRequest } from '../functions/groups/canonical/commit/commit-request.ts';
import { commitKey, documentKey, eventKey, fenceKey } from '../functions/groups/canonical/records.ts';
import { canonicalJson, sha256 } from '../functions/kernel/canonical-json.ts';
import { formatUtc } from '../functions/kernel/timestamp.ts';
import { finished } from '../functions/kernel/turns.ts';

/** Numbers, order and escapes where implementations of RFC 8785 have differed. */
const VALUES: readonly unknown[] = [
  null,
  'π <&> \u0001 "\\/ \u2028 😀',
  [1.0, -0, 1e21, 1e-7, 333333333.3333333, 9007199254740991],
  { b: 2, a: { '10': 1, '9': 2, é: 3, '\u{1f600}': 4, '\ufb33': 5 } },
];

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

/** A transaction that touches everything a commit can write. */
const REQUEST = {
  idempotencyKey: ' create-1 ',
  correlationId: 'correlation-1',
  actor: 'importer',
  mutations: [
    {
      operation: 'upsert' as const,
      document: {
        tenantId: 'tenant-a',
        documentType: 'claim',
        id: 'claims/1042',
        schemaVersion: '1',
        data: { status: 'reported', amount: 1250.5, tags: ['ü', '😀'], nested: { z: null, a: true } },
        indexes: { status: 'reported', amount: '0000001250.50' },
      },
      precondition: { mustNotExist: true },
    },
    { operation: 'upsert' as const, document: plain('note', 'n-1') },
  ],
  fences: [
    {
      operation: 'claim' as const,
      name: 'policy-number',
      value: 'P-77',
      ownerDocumentType: 'claim',
      ownerDocumentId: 'claims/1042',
    },
  ],
  outbox: [
    { topic: 'claim.reported', key: 'claims/1042', payload: { n: 1 }, headers: { trace: 'x' } },
    {
      id: 'own-event',
      topic: 'claim.reported',
      key: 'k',
      notBeforeUtc: '2026-01-02T05:04:05.678901+01:00',
      maxDeliveryAttempts: 3,
    },
  ],
};

/**
 * The parts that a release fixes permanently: canonical texts and their hashes, derived ids, and every record that a commit writes.
 * Data of an earlier release is read by every later one, so none of it may change.
 */
export function wireVectors() {
  const request = finished(readCommitRequest('tenant-a', REQUEST));
  const plan = planCommit(request, NOW);
  const decision = decideCommit(plan, { get: () => undefined });
  return {
    canonicalJson: VALUES.map((value) => {
      const text = canonicalJson(value);
      return { text, sha256: sha256(text) };
    }),
    moment: formatUtc(NOW),
    recordKeys: {
      document: documentKey('claim', 'claims/1042'),
      commit: commitKey('create-1'),
      fence: fenceKey('policy-number', 'P-77'),
      event: eventKey('own-event'),
    },
    commit: {
      tenantId: 'tenant-a',
      request: REQUEST,
      now: NOW,
      transactionId: plan.transactionId,
      requestHash: plan.requestHash,
      result: decision.result,
      writes: decision.writes,
    },
  };
}

function plain(documentType: string, id: string) {
  return { tenantId: 'tenant-a', documentType, id, schemaVersion: '1', data: {} };
}
