import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { IMPORT_PROGRESS } from '../../functions/collections/store-collections.ts';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, deathsOf, LIVE } from '../support/dying-store.ts';
import { RagStage, SHAPE, sentences } from '../support/rag-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { withoutLedger } from './forgetful-store.ts';
import { withRival, writesNote } from './rag-jobs-rivals.ts';

/**
 * A worker that dies at any of its calls: another worker resumes the job, and the end is that of a worker without a
 * death.
 */

const LEASE_MS = 8_000;
const OPTIONS = { ...SHAPE, replaceDocumentChunks: true, persistManifest: true, includeTrace: true };

const cases = [
  { name: 'that fits one transaction', before: 4, after: [6], resultBytesMax: 262_144 },
  { name: 'with a result beside its run', before: 4, after: [6], resultBytesMax: 200 },
  { name: 'that needs several transactions', before: 70, after: [60], resultBytesMax: 262_144 },
  {
    name: 'that finds a record of another call behind its first transaction',
    before: 70,
    after: [60],
    resultBytesMax: 262_144,
    meetsRival: true,
  },
  {
    name: 'of several documents that lend each other vectors',
    before: 4,
    after: [3, 3],
    resultBytesMax: 262_144,
  },
];
type Case = (typeof cases)[number] & { readonly meetsRival?: boolean };

/** A planted bug: wraps the store of the first worker. */
type Plant = (store: RecordStore) => RecordStore;

// A turn count does not see that a handler loads its code.
beforeAll(() => import('../../functions/groups/rag/jobs/run-rag-job.ts'));

/** JSON without the values that differ between two executions of one job: times, and the ids of runs. */
function timeless(value: unknown): string {
  const differs = new Set(['durationMs', 'id', 'generatedAt']);
  return JSON.stringify(value, (name, each: unknown) =>
    differs.has(name) && (name !== 'id' || String(each).startsWith('trace-')) ? null : each,
  );
}

interface End {
  /** Store calls of the first worker. */
  readonly calls: number;
  /** The records and the result. */
  readonly state: string;
}

/** Executes the job with a worker that dies at the given commit, then with one that survives. */
async function endOf(
  store: RecordStore,
  dies: Death,
  { before, after, resultBytesMax, meetsRival = false }: Case,
  plant: Plant = (own) => own,
): Promise<End> {
  let last: string | null = null;
  const writesLast = () => (last === null ? Promise.resolve() : writesNote(stage, last));
  const stage = new RagStage(withRival(store, writesLast, () => last !== null));
  await stage.begin();
  const common = { resultBytesMax, leaseMs: LEASE_MS };
  await stage.rag(common).ingest({ documentId: 'd0', text: sentences(0, before), options: OPTIONS });
  if (meetsRival) last = (await stage.records()).findLast(({ type }) => type === 'rag.chunk')?.id ?? null;
  const documents = after.map((count, at) => {
    const reuse = { reuseExistingChunkVectors: true, deduplicateExistingChunks: at > 1 };
    return { documentId: `d${at}`, text: sentences(before - 2, count), options: { ...OPTIONS, ...reuse } };
  });
  const api = stage.rag({ ...common, concurrencyMax: 0 });
  const { id } = await api.start(documents.length === 1 ? documents[0]! : documents);
  const dying = new DyingStore(plant(stage.store), dies);
  const first = stage.rag({ ...common, over: dying.store });
  void first.engine.engine.deliver(id).catch(() => undefined);
  for (let still = 0, calls = -1; still < 40; still = calls === dying.calls ? still + 1 : 0) {
    calls = dying.calls;
    await stage.quiet();
  }
  const second = stage.rag({ ...common, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 60; turn += 1) {
    const { status } = await api.get(id);
    if (status !== 'queued' && status !== 'running') break;
    await stage.pass(1_000);
  }
  const { status, textResult, batchResult, chunkCount, succeeded } = await api.get(id);
  await second.engine.stop();
  expect(status).toBe('succeeded');
  const result = [textResult, batchResult, chunkCount, succeeded];
  return { calls: dying.calls, state: timeless([await stage.records(), result]) };
}

interface Search {
  readonly plant?: Plant;
  /** Kill at each `step`-th call. */
  readonly step?: number;
}

/** The first death with another end than that of a worker without one. */
async function otherEnd(
  open: () => Promise<RecordStore>,
  each: Case,
  { plant, step = 1 }: Search = {},
): Promise<Death | null> {
  const whole = await endOf(await open(), LIVE, each);
  expect(whole.calls).toBeGreaterThan(9);
  for (const death of deathsOf(whole.calls, step))
    if ((await endOf(await open(), death, each, plant)).state !== whole.state) return death;
  return null;
}

const inMemory = () => Promise.resolve<RecordStore>(new MemoryStore(new MemoryDatabase()));

describe.each(cases)('an ingestion $name', (each) => {
  test('ends the same after a kill at every call of its worker, in memory', async () => {
    expect(await otherEnd(inMemory, each)).toBeNull();
  });
});

/** The first worker omits from its ledger the chunks that it left to others. */
const boastful: Plant = (store) =>
  patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        return { ...rest, writes: writes.map(withoutSpared) };
      }),
  });

function withoutSpared(write: Write): Write {
  if (!('put' in write) || write.put.key.collection !== IMPORT_PROGRESS.name) return write;
  const { spared: _, ...head } = write.put.head;
  return { put: { ...write.put, head } };
}

test('the oracle finds a worker that forgets which removals it has not made', async () => {
  expect(await otherEnd(inMemory, cases[3]!, { plant: boastful })).not.toBeNull();
});

test('ends the same after kills of its worker on SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-rag-killed-'));
  const path = join(folder, 'rag.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: declaredCollections });
  const open = () => Promise.resolve(store);
  expect(await otherEnd(open, cases[2]!, { step: 3 })).toBeNull();
  expect(await otherEnd(open, cases[3]!, { step: 3 })).toBeNull();
  expect(await otherEnd(open, cases[0]!, { step: 2 })).toBeNull();
  await store.close();
});

test('the oracle finds a worker that keeps no ledger beside its writes', async () => {
  expect(await otherEnd(inMemory, cases[0]!, { plant: withoutLedger })).not.toBeNull();
});
