import { beforeAll, describe, expect, test } from 'vitest';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, LIVE } from '../support/dying-store.ts';
import { EmbeddingsStage } from '../support/embeddings-stage.ts';
import { PaidModel, vectorOf } from '../support/paid-model.ts';
import { patched } from './canonical-outbox-tenant.ts';

/**
 * A worker that dies at any of its calls: another worker resumes the job, and pays at most for the call in flight once
 * more.
 */

const LEASE_MS = 8_000;
const TEXTS_MAX = 2;
const short = ['a', 'b', 'c', 'b', 'd', 'e', 'f', 'g'];
/** Too large for a run, so the payload is staged. */
const long = short.map((text) => text + 'x'.repeat(12_000));

const cases = [
  { name: 'with a result in its run', texts: short, resultBytesMax: 262_144, isPaid: true },
  { name: 'with a result in its checkpoints', texts: short, resultBytesMax: 100, isPaid: true },
  { name: 'that is staged', texts: long, resultBytesMax: 100, isPaid: true },
  // Its vectors are in the checkpoints of the job alone.
  { name: 'for a model that is free', texts: short, resultBytesMax: 100, isPaid: false },
];
type Case = (typeof cases)[number];

/** A planted bug: wraps the store of the first worker. */
type Plant = (store: RecordStore) => RecordStore;

// A turn count does not see that a handler loads its code.
beforeAll(() => import('../../functions/groups/embeddings/jobs/run-embedding-job.ts'));

interface Outcome {
  /** Store calls of the first worker. */
  readonly calls: number;
  /** Texts that were paid for again though their call was not in flight. */
  readonly paidTwice: readonly string[];
}

/** Executes the job with a worker that dies at the given commit, then with one that survives. */
async function killedAt(
  dies: Death,
  { texts, resultBytesMax, isPaid }: Case,
  plant: Plant = (store) => store,
): Promise<Outcome> {
  const stage = new EmbeddingsStage(new MemoryStore(new MemoryDatabase()));
  const model = new PaidModel();
  const embedder = { ...model.embedder(stage.world, { textsMax: TEXTS_MAX }), isPaid };
  const common = { embedder, resultBytesMax, leaseMs: LEASE_MS };
  const api = stage.embeddings({ ...common, concurrencyMax: 0 });
  const { id } = await api.start({ texts });
  const dying = new DyingStore(plant(stage.store), dies);
  const first = stage.embeddings({ ...common, over: dying.store });
  void first.engine.engine.deliver(id).catch(() => undefined);
  for (let turn = 0; turn < 400; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const lastCall = model.calls.at(-1) ?? [];
  const second = stage.embeddings({ ...common, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    await stage.pass(1_000);
    if ((await api.get(id)).status === 'succeeded') break;
  }
  const job = await api.get(id);
  const counts = { requested: 8, attempted: 8, succeeded: 8, failed: 0, progress: 1 };
  expect(job).toMatchObject({ status: 'succeeded', ...counts, currentIndex: null });
  expect(job.result?.items.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
  expect(job.result?.items.map(({ values }) => values)).toEqual(texts.map(vectorOf));
  expect(new Set(model.paid.keys())).toEqual(new Set(texts));
  await second.engine.stop();
  const timesIn = (text: string) => texts.filter((each) => !isPaid && each === text).length;
  const again = [...model.paid]
    .filter(([text, times]) => times > Math.max(1, timesIn(text)))
    .map(([text]) => text);
  return { calls: dying.calls, paidTwice: again.filter((text) => !lastCall.includes(text)) };
}

async function everyDeath(each: Case, plant?: Plant): Promise<readonly string[]> {
  const { calls } = await killedAt(LIVE, each, plant);
  expect(calls).toBeGreaterThan(9);
  const paidTwice: string[] = [];
  for (let at = 1; at <= calls; at += 1)
    for (const after of [false, true])
      paidTwice.push(...(await killedAt({ at, after }, each, plant)).paidTwice);
  return paidTwice;
}

describe.each(cases)('a request $name', (each) => {
  test('is resumed after a kill at every call of its worker, and pays for no text twice except those in flight', async () => {
    expect(await everyDeath(each)).toEqual([]);
  });
});

/** The first worker writes no vectors, neither to the cache of the model nor to the checkpoints of the job. */
const forgetful: Plant = (store) =>
  patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        const holdsVectors = (write: Write) =>
          'put' in write && ['embeddings', 'checkpoints'].includes(write.put.key.collection);
        return { ...rest, writes: writes.filter((write) => !holdsVectors(write)) };
      }),
  });

test('the oracle finds a worker that keeps no vectors before its next call', async () => {
  const paidTwice = await everyDeath(cases[0] as Case, forgetful);
  expect(paidTwice).toContain('a');
});

test('a process that stops during a call requeues the job, and another one resumes it', async () => {
  const stage = new EmbeddingsStage(new MemoryStore(new MemoryDatabase()));
  const model = new PaidModel();
  const embedder = model.embedder(stage.world, { textsMax: TEXTS_MAX });
  model.gate = () => (model.calls.length === 2 ? new Promise(() => undefined) : Promise.resolve());
  const first = stage.embeddings({ embedder });
  const { id } = await first.start({ texts: long });
  while (model.calls.length < 2) await stage.quiet();
  const stopped = first.engine.stop();
  // The handler has time to end, and then to return.
  for (let second = 0; second < 10; second += 1) await stage.pass(1_000);
  await stopped;
  expect(await first.get(id)).toMatchObject({ status: 'queued', error: null });
  const second = stage.embeddings({ embedder });
  await second.engine.start();
  expect(await second.ended(id)).toMatchObject({ status: 'succeeded', attempted: 8 });
  await second.engine.stop();
  // The text of the call in flight; the other one of its part was in the cache.
  expect([...model.paid].filter(([, times]) => times > 1).map(([text]) => text)).toEqual([long[2]]);
  expect(await second.stagedBytes()).toBe(0);
});
