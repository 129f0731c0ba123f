import { describe, expect, test } from 'vitest';
import type { CanonicalTransactionRequest } from '../../../../contracts/generated/models.ts';
import { refusalOf } from '../../../../test/support/refusal.ts';
import { finished } from '../../../kernel/turns.ts';
import type { LoadedRecords, RecordData, RecordKey } from '../../../store/port.ts';
import { commitKey, documentKey, eventKey, fenceKey } from '../records.ts';
import { type CommitPlan, commitKeys, decideCommit, planCommit } from './commit.ts';
import { readCommitRequest } from './commit-request.ts';
import { replayResult } from './receipt.ts';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const document = (id: string) => ({
  tenantId: 't',
  documentType: 'claim',
  id,
  schemaVersion: 'v1',
  data: { id },
});
const fence = { name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'a' };

const sample: Partial<CanonicalTransactionRequest> = {
  actor: 'me',
  correlationId: 'c',
  mutations: [
    { document: document('b'), precondition: { mustNotExist: true } },
    { document: document('a'), precondition: {} },
  ],
  fences: [{ operation: 'claim', ...fence }],
  outbox: [
    { topic: 't', key: 'k', payload: { n: 1 } },
    { id: 'own', topic: 't', key: 'k', payload: 2 },
  ],
};

function planOf(request: Partial<CanonicalTransactionRequest> = sample): CommitPlan {
  return planCommit(
    finished(readCommitRequest('t', { tenantId: 't', idempotencyKey: 'k', ...request })),
    NOW,
  );
}

function found(...records: RecordData[]): LoadedRecords {
  const name = ({ collection, id }: RecordKey) => `${collection}/${id}`;
  const byKey = new Map(records.map((record) => [name(record.key), record]));
  return { get: (key: RecordKey) => byKey.get(name(key)) };
}

function written(plan: CommitPlan, ...records: RecordData[]): RecordData[] {
  return decideCommit(plan, found(...records)).writes.flatMap((write) => ('put' in write ? [write.put] : []));
}

function receiptOf(plan: CommitPlan): RecordData {
  const [receipt] = written(plan);
  if (receipt === undefined) throw new Error('there is no receipt');
  return receipt;
}

test('the keys of a commit are guarded by its receipt, and what must be new is said to be', () => {
  const plan = planOf();
  const gate = commitKey('k');
  expect(commitKeys(plan)).toEqual({
    gate,
    keys: [
      { key: gate },
      { key: documentKey('claim', 'b'), expectAbsent: true },
      { key: documentKey('claim', 'a'), expectAbsent: false },
      { key: fenceKey('n', 'v') },
      { key: eventKey(`${plan.transactionId}:000`), expectAbsent: true },
      { key: eventKey('own'), expectAbsent: true },
    ],
  });
});

test('everything is written at once: receipt, documents, fences, events', () => {
  const plan = planOf();
  expect(written(plan).map(({ key }) => key)).toEqual([
    commitKey('k'),
    documentKey('claim', 'b'),
    documentKey('claim', 'a'),
    fenceKey('n', 'v'),
    eventKey(`${plan.transactionId}:000`),
    eventKey('own'),
  ]);
});

test('an event id that another event of the request is given is refused', () => {
  const outbox = [
    { id: 'same', topic: 't', key: 'k' },
    { id: ' same ', topic: 't', key: 'k' },
  ];
  expect(refusalOf(() => planOf({ outbox }))).toMatchObject({
    code: 'duplicate_in_request',
    errors: [{ pointer: '/outbox/1', detail: 'the same event id occurs twice in one transaction' }],
  });
});

test('an event id that exists is refused, naming the event', () => {
  expect(refusalOf(() => decideCommit(planOf(), found({ key: eventKey('own'), head: {} })))).toEqual({
    code: 'outbox_event_exists',
    message: expect.stringContaining('event of this id exists'),
    errors: [{ pointer: '/outbox/1/id', detail: 'is the id of an event that exists' }],
  });
});

test('a refusal names the fence and the mutation by their places', () => {
  const taken: RecordData = { key: fenceKey('n', 'v'), head: { ...fence, ownerDocumentId: 'other' } };
  expect(refusalOf(() => decideCommit(planOf(), found(taken))).errors?.[0]?.pointer).toBe('/fences/0');
  const missing = planOf({
    mutations: [{ document: document('b') }, { operation: 'delete', documentType: 'claim', id: 'a' }],
  });
  expect(refusalOf(() => decideCommit(missing, found())).errors?.[0]?.pointer).toBe('/mutations/1');
});

describe('the receipt', () => {
  test('answers the same request, and writes nothing', () => {
    const plan = planOf();
    expect(decideCommit(plan, found(receiptOf(plan)))).toEqual({
      writes: [],
      result: { answeredFromReceipt: true },
    });
  });

  test('refuses another request under its key', () => {
    const other = planOf({ fences: [fence] });
    expect(refusalOf(() => decideCommit(other, found(receiptOf(planOf()))))).toEqual({
      code: 'idempotency_conflict',
      message: expect.stringContaining('used for another request'),
      errors: [{ pointer: '/idempotencyKey', detail: 'was used for another request' }],
    });
  });

  test('of another key is not believed', () => {
    const receipt = receiptOf(planOf());
    const strange = { ...receipt, head: { ...receipt.head, idempotencyKey: 'other' } };
    expect(() => decideCommit(planOf(), found(strange))).toThrow(
      expect.objectContaining({
        failure: 'corrupt',
        message: expect.stringContaining('does not hold the receipt'),
      }),
    );
  });

  test.each([
    ['small payloads', 1, 0],
    ['payloads of 256 Ki characters together', 256 * 1024, 0],
    ['one character more', 256 * 1024 + 1, 2],
  ])('with %s answers as the commit did', (_, length, filed) => {
    const outbox = [
      { topic: 't', key: 'k', payload: 'x'.repeat(Math.ceil(length / 2) - Math.min(2, length)) },
      { topic: 't', key: 'k', payload: 'x'.repeat(Math.max(0, Math.floor(length / 2) - 2)) },
    ];
    const plan = planOf({ ...sample, outbox });
    const receipt = receiptOf(plan);
    const revisions = receipt.parts?.slice(0, 2) ?? [];
    const payloads = receipt.parts?.slice(2) ?? [];
    expect(revisions.map(({ of, order }) => [of, order])).toEqual(
      ['b', 'a'].map((id) => [documentKey('claim', id).id, '0000000000000001']),
    );
    expect(payloads).toEqual(
      outbox.slice(0, filed).map(({ payload }, n) => ({
        of: eventKey(plan.events[n]?.event.id ?? '').id,
        order: commitKey(plan.request.idempotencyKey).id,
        body: JSON.stringify(payload),
      })),
    );
    const { result } = decideCommit(plan, found());
    if (result.answeredFromReceipt) throw new Error('there was no receipt');
    expect(JSON.stringify(replayResult('t', receipt))).toBe(
      JSON.stringify({ ...result.result, replayed: true }),
    );
  });

  test('without names answers without names', () => {
    const { actor, correlationId } = replayResult('t', receiptOf(planOf({ fences: [fence], actor: null })));
    expect([actor, correlationId]).toEqual([null, null]);
  });

  test('that lacks what was filed with it is not answered from', () => {
    const { parts = [], ...unfiled } = receiptOf(planOf());
    for (const receipt of [unfiled, { ...unfiled, parts: [] }, { ...unfiled, parts: parts.slice(1) }]) {
      expect(() => replayResult('t', receipt)).toThrow(
        expect.objectContaining({
          failure: 'corrupt',
          message: expect.stringContaining('lacks what was filed'),
        }),
      );
    }
  });
});

test('a commit after the clock was set back has one moment: the last one of its documents', () => {
  const stored = written(planOf());
  const request = {
    idempotencyKey: 'later',
    mutations: [{ document: document('a') }],
    outbox: [{ topic: 't', key: 'k', payload: 1 }],
  };
  const plan = planCommit(finished(readCommitRequest('t', { tenantId: 't', ...request })), NOW - 3_600_000);
  const heads = written(plan, ...stored.filter(({ key }) => key.id === documentKey('claim', 'a').id)).map(
    ({ head }) => head,
  );
  const moments = heads.flatMap((head) => [
    head['committedAtUtc'],
    head['updatedAtUtc'],
    head['createdAtUtc'],
  ]);
  expect(new Set(moments.filter((moment) => moment !== undefined))).toEqual(
    new Set([new Date(NOW).toISOString()]),
  );
});
