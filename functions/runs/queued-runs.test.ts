import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { executionInstance, ownScope } from '../../test/support/execution.ts';
import { runKey, runRecord } from './records.ts';
import { queuedRun } from './rules/run.fixture.ts';

const idOf = (n: number) => String(n).padStart(20, '0');
const HANDLER = 'the.handler';
const BATCH = 100;

/** A queue of this many runs, oldest first. */
async function queueOf(count: number) {
  const store = new MemoryStore(new MemoryDatabase());
  const scope = ownScope();
  const all = Array.from({ length: count }, (_, n) => idOf(n));
  for (let n = 0; n < count; n += BATCH) {
    const batch = all.slice(n, n + BATCH);
    await store.transact(scope, { keys: batch.map((id) => ({ key: runKey(id) })) }, () => ({
      writes: batch.map((id) => ({ put: runRecord(queuedRun({ id, handlerId: HANDLER })) })),
      result: null,
    }));
  }
  const { runtime } = executionInstance(store, { scope, external: [{ handlerId: HANDLER }] });
  return async (...wanted: number[]) => {
    const ids = new Set(wanted.map(idOf));
    return (await runtime.queuedRuns.find(HANDLER, 32, ({ id }) => ids.has(id))).map(({ id }) => Number(id));
  };
}

/** The results of the searches up to the first one that finds runs. */
async function found(search: () => Promise<number[]>, most: number): Promise<number[]> {
  for (let n = 0; n < most; n += 1) {
    const ids = await search();
    if (ids.length > 0) return ids;
  }
  return [];
}

test('a run is found behind any number of queued runs, by searches that each read a part', async () => {
  const search = await queueOf(4_000);
  expect(await search(3_990)).toEqual([]);
  expect(await found(() => search(3_990), 4)).toEqual([3_990]);
  // After the last run the searches start again, so they also find older runs that were queued meanwhile.
  expect(await found(() => search(3_991), 4)).toEqual([3_991]);
  expect(await found(() => search(1_030), 5)).toEqual([1_030]);
  // A handler with runs among the oldest gets these.
  expect(await search(5, 1_030, 3_990)).toEqual([5]);
});

test('two searchers that alternate both find their own runs', async () => {
  const search = await queueOf(3_072);
  const seen = new Set<number>();
  for (let n = 0; n < 60 && seen.size < 2; n += 1) {
    for (const id of await search(n % 2 === 0 ? 3_000 : 1_100)) seen.add(id);
  }
  expect(seen).toEqual(new Set([3_000, 1_100]));
});
