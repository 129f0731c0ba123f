import { expect, test } from 'vitest';
import { onlyVersion, withRange } from '../../functions/collections/entry-range.ts';
import { RECORDS } from '../../functions/collections/store-collections.ts';
import type { LoadedRecords, RecordData, RecordStore, Write } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { NAME, type Plant, ReindexStage, sweepInLives } from './records-reindex.ts';

const COUNT = 120;

async function filled(plant: Plant): Promise<ReindexStage> {
  const stage = new ReindexStage(new MemoryStore(new MemoryDatabase()), plant);
  await stage.fill(COUNT);
  return stage;
}

/** Whether a sweep that dies at some commit causes wrong searches. */
async function isWrong(plant: Plant): Promise<boolean> {
  for (let commit = 1; commit <= 12; commit += 1) {
    const stage = await filled(plant);
    const lives = (life: number) => [life === 0 ? commit : 1_000, 'behind'] as const;
    if ((await sweepInLives(stage, lives)) !== 'equal') return true;
  }
  return false;
}

const isEntry = (write: Write) => 'put' in write && write.put.key.collection === RECORDS.name;

/** The intent claims that pages are written before they are. */
function earlyCheckpoint(store: RecordStore): RecordStore {
  let late: (() => Promise<unknown>) | null = null;
  return patched(store, {
    async transact(scope, request, decide) {
      const pending = late;
      late = null;
      if (scope.kind === 'system') {
        const answer = await store.transact(scope, request, decide);
        await pending?.();
        return answer;
      }
      await pending?.();
      let entries = false;
      const answer = await store.transact(scope, request, (found) => {
        const decision = decide(found);
        entries = decision.writes.some(isEntry);
        return entries ? { writes: [], result: decision.result } : decision;
      });
      if (entries) late = () => store.transact(scope, request, decide);
      return answer;
    },
  });
}

/** The collection is searched from the beginning of its sweep. */
function earlyHead(store: RecordStore): RecordStore {
  const early = (put: RecordData) =>
    put.head['entriesNext'] === undefined ? put : { ...put, head: withRange(put.head, onlyVersion(1)) };
  return patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, result } = decide(found);
        return {
          result,
          writes: writes.map((write) => ('put' in write ? { put: early(write.put) } : write)),
        };
      }),
  });
}

/** Calls `then` between the read of a page and its write; `stale`: the write does not read the records again. */
function betweenReadAndWrite(then: () => Promise<unknown>, stale: boolean): Plant {
  return (store) => {
    const read = new Map<string, RecordData>();
    return patched(store, {
      query: (async (scope, selection) => {
        const page = await store.query(scope, selection as never);
        const { records = [] } = page as { records?: readonly RecordData[] };
        for (const record of records) read.set(record.key.id, record);
        if (records[0]?.key.collection === RECORDS.name) await then();
        return page;
      }) as RecordStore['query'],
      transact: (scope, request, decide) =>
        store.transact(scope, request, (found) => {
          const asRead: LoadedRecords = {
            get(key) {
              const now = found.get(key);
              return stale && now !== undefined && key.collection === RECORDS.name ? read.get(key.id) : now;
            },
          };
          return decide(asRead);
        }),
    });
  };
}

async function isOverwritten(stale: boolean): Promise<boolean> {
  let write: () => Promise<unknown> = () => Promise.resolve();
  const stage = await filled(betweenReadAndWrite(() => write(), stale));
  await stage.verdict();
  write = async () => {
    write = () => Promise.resolve();
    await stage.stage.put(NAME, { id: 'r0000', partitionKey: 'p0', content: 'omega' });
  };
  await stage.sweep();
  const found = (await stage.answer({ lexical: { query: 'omega' } })) as [{ revision: number }, number][];
  const before = await stage.answer({ lexical: { query: 'word0' } });
  return before.length > 0 || found.length !== 1 || found[0]?.[0].revision !== 2;
}

test('a sweep without a fault is never wrong', async () => {
  expect(await isWrong((store) => store)).toBe(false);
  expect(await isOverwritten(false)).toBe(false);
});

test('the test detects a checkpoint before the commit of its page', async () => {
  expect(await isWrong(earlyCheckpoint)).toBe(true);
});

test('the test detects a collection that is searched before the end of its sweep', async () => {
  expect(await isWrong(earlyHead)).toBe(true);
});

test('the test detects a sweep that overwrites a record of another call', async () => {
  expect(await isOverwritten(true)).toBe(true);
});
