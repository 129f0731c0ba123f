import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, LIVE } from '../support/dying-store.ts';
import { PaidModel, vectorsAnswer } from '../support/paid-model.ts';
import { RetrievalJobsStage } from '../support/retrieval-jobs-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { DIMENSIONS, RetrievalStage } from './retrieval-stage.ts';

/**
 * Evaluation jobs with a paid model, and a worker that dies at any of its calls: another worker resumes the job, and
 * pays again only for the query whose vector was not stored yet.
 */

const LEASE_MS = 8_000;
const caseOf = (query: string, own: object = {}) => ({
  name: query,
  request: { query, collections: ['notes'], searchMode: 'vector', ...own },
  expected: [{ id: 'both' }],
});
/** One query is asked by two cases, and one for a collection that is absent. */
const cases = [
  caseOf('fox'),
  caseOf('nothing', { collections: ['absent'] }),
  caseOf('river'),
  caseOf('fox', { limit: 2 }),
];
const PAID = ['fox', 'river'];
const variants = [{ id: 'near' }, { id: 'both', searchMode: 'hybrid' }];

const jobs = [
  { name: 'an evaluation', body: { cases } },
  { name: 'a comparison', body: { cases, variants, includeCaseResults: true } },
] as const;
type Job = (typeof jobs)[number];

/** A planted bug: wraps the store of the first worker. */
type Plant = (store: RecordStore) => RecordStore;

// A turn count does not see that a handler loads its code.
beforeAll(() => import('../../functions/groups/retrieval/jobs/run-retrieval-job.ts'));

interface Outcome {
  /** Store calls of the first worker. */
  readonly calls: number;
  readonly report: string;
  /** Calls of the model, each with the texts that it was paid for. */
  readonly paid: readonly (readonly string[])[];
  /** Whether the first worker died with vectors that were paid for and not kept. */
  readonly inFlight: boolean;
}

/** Executes the job with a worker that dies at the named store call, then with a second worker that finishes it. */
async function killedAt(dies: Death, { body }: Job, plant: Plant = (own) => own): Promise<Outcome> {
  const stage = new RetrievalJobsStage(new MemoryStore(new MemoryDatabase()));
  await stage.furnish();
  const model = new PaidModel();
  model.reply = (texts) => vectorsAnswer(texts.map((text) => Array(DIMENSIONS).fill(text.length)));
  const embedder = model.embedder(stage.world, { dimensions: DIMENSIONS });
  const partsOver = (store: RecordStore) => new RetrievalStage(store, { embedder, space: stage.space }).parts;
  const api = stage.jobs({ leaseMs: LEASE_MS, concurrencyMax: 0 });
  const { id } = await api.start(body);
  const counting = new KeptVectors(stage.store);
  const dying = new DyingStore(plant(counting.store), dies);
  const own = { leaseMs: LEASE_MS, over: dying.store, parts: partsOver(dying.store) };
  void stage
    .jobs(own)
    .engine.engine.deliver(id)
    .catch(() => undefined);
  await settled(dying, stage);
  const inFlight = model.calls.length > counting.kept;
  const second = stage.jobs({ leaseMs: LEASE_MS, recheckMs: 1_000, parts: partsOver(stage.store) });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    if ((await api.get(id)).status === 'succeeded') break;
    await stage.pass(1_000);
  }
  const job = await api.get(id);
  expect(job).toMatchObject({ status: 'succeeded', progress: 1 });
  await second.engine.stop();
  const report = canonicalJson(job.evaluationResult ?? job.result);
  return { calls: dying.calls, report, paid: model.calls, inFlight };
}

/** Counts the vectors that a store has kept. */
class KeptVectors {
  kept = 0;
  readonly store: RecordStore;

  constructor(inner: RecordStore) {
    this.store = patched(inner, {
      transact: async (scope, request, decide) => {
        let writes = 0;
        const answer = await inner.transact(scope, request, (found) => {
          const decided = decide(found);
          writes = decided.writes.filter(isVector).length;
          return decided;
        });
        this.kept += writes;
        return answer;
      },
    });
  }
}

function isVector(write: Write): boolean {
  return 'put' in write && write.put.key.collection === 'embeddings';
}

/** Until the first worker has made no call for a while: it has ended, or it is dead. */
async function settled(dying: DyingStore, stage: RetrievalJobsStage): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const { calls } = dying;
    await stage.quiet();
    quiet = calls === dying.calls ? quiet + 1 : 0;
  }
}

/** Faults of the job over all deaths of its first worker. */
async function everyDeath(job: Job, plant?: Plant): Promise<readonly string[]> {
  const { calls, report, paid } = await killedAt(LIVE, job);
  expect(calls).toBeGreaterThan(cases.length);
  expect(paid).toEqual(PAID.map((text) => [text]));
  const faults: string[] = [];
  const deathsInFlight: number[] = [];
  for (let at = 1; at <= calls; at += 1)
    for (const after of [false, true]) {
      const killed = await killedAt({ at, after }, job, plant);
      if (killed.report !== report) faults.push(`another report after call ${at}`);
      if (killed.inFlight) deathsInFlight.push(at);
      const again = killed.paid.length - PAID.length;
      if (again > (killed.inFlight ? 1 : 0)) faults.push(`${again} paid again after call ${at}`);
    }
  // Each query was in flight at some death.
  expect(deathsInFlight.length).toBeGreaterThanOrEqual(PAID.length);
  return faults;
}

describe.each(jobs)('$name with a paid model that is killed at every call of its worker', (job) => {
  test('pays once for each query, and again only for a query whose vector was not kept', async () => {
    expect(await everyDeath(job)).toEqual([]);
  });
});

/** The first worker keeps no vectors and no cases. */
const forgetful: Plant = (store) =>
  patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        const isCase = (write: Write) => 'put' in write && write.put.key.collection === 'checkpoints';
        return { ...rest, writes: writes.filter((write) => !isVector(write) && !isCase(write)) };
      }),
  });

test('the oracle finds a worker that keeps no vectors', async () => {
  const faults = await everyDeath(jobs[0], forgetful);
  expect(faults.some((fault) => fault.includes('paid again'))).toBe(true);
});
