import { beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionRun, RecordImportJob } from '../../contracts/generated/models.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { readCollection } from '../../functions/collections/read-policy.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, deathsOf, LIVE } from '../support/dying-store.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';

const LEASE_MS = 8_000;
interface Case {
  readonly name: string;
  readonly replaceExisting: boolean;
  readonly policyStatus: string;
}

const cases: readonly Case[] = [
  { name: 'into a collection that exists', replaceExisting: false, policyStatus: 'existing_equivalent' },
  { name: 'that replaces a collection', replaceExisting: true, policyStatus: 'replaced' },
];

/** Runs the import with a worker that dies at the given call, then with one that survives; answers how many calls the first made. */
async function killedAt(dies: Death, { replaceExisting, policyStatus }: Case): Promise<number> {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  const api = stage.records({ concurrencyMax: 0 });
  const setup = stage.records();
  await setup.answer('POST', '/collections', { body: { name: 'c' } }, 202);
  await stage.quiet();
  const old = { records: recordsOf(3, { type: 'old' }) };
  await setup.answer('POST', '/collections/c/records/batch/jobs', { body: old }, 202);
  await stage.quiet();
  const records = [
    ...recordsOf(230),
    { id: 'bad', partitionKey: ' ' },
    ...recordsOf(20, { partitionKey: 'q' }),
  ];
  const snapshot = { collection: 'c', policy: { name: 'c' }, records };
  const body = { snapshot, replaceExisting, continueOnError: true };
  const path = '/collections/c/import/jobs';
  const { id } = await api.answer<RecordImportJob>('POST', path, { body }, 202);
  const dying = new DyingStore(stage.store, dies);
  const first = stage.instanceOver(dying.store, { leaseMs: LEASE_MS });
  void first.engine.engine.deliver(id).catch(() => undefined);
  await settled(stage);
  const second = stage.records({ leaseMs: LEASE_MS, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    await stage.pass(1_000);
    const { status } = await api.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    if (status === 'succeeded') break;
  }
  const job = await api.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
  const counts = { requested: 251, attempted: 251, succeeded: 250, failed: 1 };
  expect(job).toMatchObject({ status: 'succeeded', ...counts, importResult: { policyStatus } });
  const items = job.importResult?.records.items ?? [];
  expect(items.map(({ index }) => index)).toEqual(records.map((_, index) => index));
  // Three of the old collection were there before, unless it was replaced.
  const revisions = items.map(({ id: name, partitionKey, revision }) => [name, partitionKey, revision]);
  const expected = records.map(({ id: name, partitionKey }, index) => {
    const before = !replaceExisting && index < 3 ? 1 : 0;
    return [name, partitionKey, name === 'bad' ? null : before + 1];
  });
  expect(revisions).toEqual(expected);
  expect(await api.count('c')).toBe(250);
  await second.engine.stop();
  return dying.calls;
}

/** Nothing that lives is under way any more; calls of the dead process never end. */
async function settled(stage: RecordsStage): Promise<void> {
  for (let turn = 0; turn < 400; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(stage.storeCalls).toBeGreaterThan(0);
}

// A turn count does not see that a handler loads its code.
beforeAll(() =>
  Promise.all([
    import('../../functions/groups/records/library/run-record-job.ts'),
    import('../../functions/groups/collections/run-collection-job.ts'),
  ]),
);

describe.each(cases)('an import $name', (each) => {
  test('is resumed after a kill at every call of its worker, and counts each record once', async () => {
    const calls = await killedAt(LIVE, each);
    expect(calls).toBeGreaterThan(15);
    for (const death of deathsOf(calls)) await killedAt(death, each);
  });
});

/** A worker deletes a collection and dies; if the collection is removed, another is created before the next worker. */
async function deletedAt(dies: Death): Promise<{ readonly calls: number; readonly isRemade: boolean }> {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  const api = stage.records({ concurrencyMax: 0 });
  const policy = readPolicy({ name: 'c', indexedMetadata: ['/metadata/first'] }, '');
  await createCollection(api.records, stage.space, policy);
  const { id } = await api.answer<ExecutionRun>('DELETE', '/collections/c', {}, 202);
  const dying = new DyingStore(stage.store, dies);
  const first = stage.instanceOver(dying.store, { leaseMs: LEASE_MS });
  void first.engine.engine.deliver(id).catch(() => undefined);
  await settled(stage);
  const isRemade = (await readCollection(api.records, stage.space, 'c')) === null;
  if (isRemade) await createCollection(api.records, stage.space, readPolicy({ name: 'c' }, ''));
  const second = stage.records({ leaseMs: LEASE_MS, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    await stage.pass(1_000);
    if ((await api.execution.get(id)).status === 'succeeded') break;
  }
  expect((await api.execution.get(id)).status).toBe('succeeded');
  const left = await readCollection(api.records, stage.space, 'c');
  expect(left?.policy.indexedMetadata).toEqual(isRemade ? [] : undefined);
  await second.engine.stop();
  return { calls: dying.calls, isRemade };
}

test('a deletion that is executed again after a kill spares a collection that was created since', async () => {
  const { calls } = await deletedAt(LIVE);
  const remade: boolean[] = [];
  for (const death of deathsOf(calls)) remade.push((await deletedAt(death)).isRemade);
  expect(new Set(remade).size).toBe(2);
});
