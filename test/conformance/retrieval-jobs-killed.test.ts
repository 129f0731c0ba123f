import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, LIVE } from '../support/dying-store.ts';
import { RetrievalJobsStage } from '../support/retrieval-jobs-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';

/**
 * A worker that dies at any of its calls: another worker resumes the job, and the report is that of a worker without a
 * death.
 */

const LEASE_MS = 8_000;
const CASES = 3;
const caseOf = (id: string, collection = 'notes', own: object = {}) => ({
  name: id,
  request: { query: id, collections: [collection] },
  expected: [{ id }, { id: 'both' }],
  ...own,
});
const cases = [caseOf('fox'), caseOf('river', 'absent'), caseOf('river')];
const variants = [{ id: 'words' }, { id: 'both', searchMode: 'hybrid' }];
const metadata = { text: 'x'.repeat(70_000) };

const jobs = [
  { name: 'an evaluation', body: { cases }, resultBytesMax: 262_144, tries: CASES },
  {
    name: 'one that is staged',
    body: { cases: [...cases.slice(1), caseOf('fox', 'notes', { metadata })] },
    resultBytesMax: 262_144,
    tries: CASES,
  },
  {
    name: 'a comparison with a large report',
    body: { cases, variants, includeCaseResults: true },
    resultBytesMax: 100,
    tries: 5,
  },
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
  /** Searches that both workers made together: a hybrid one looks for an absent collection first. */
  readonly tries: number;
}

/** Executes the job with a worker that dies at the named store call, then with a second worker that finishes it. */
async function killedAt(
  store: RecordStore,
  dies: Death,
  { body, resultBytesMax }: Job,
  plant: Plant = (own) => own,
): Promise<Outcome> {
  const stage = new RetrievalJobsStage(store);
  await stage.furnish();
  let tries = 0;
  const { lanes } = stage.retrieval.parts.records;
  const run = lanes.run.bind(lanes);
  lanes.run = (...given) => {
    tries += 1;
    return run(...given);
  };
  const common = { resultBytesMax, leaseMs: LEASE_MS };
  const api = stage.jobs({ ...common, concurrencyMax: 0 });
  const { id } = await api.start(body);
  const dying = new DyingStore(plant(stage.store), dies);
  const first = stage.jobs({ ...common, over: dying.store });
  void first.engine.engine.deliver(id).catch(() => undefined);
  await settled(dying, stage);
  const second = stage.jobs({ ...common, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    if ((await api.get(id)).status === 'succeeded') break;
    await stage.pass(1_000);
  }
  const job = await api.get(id);
  expect(job).toMatchObject({ status: 'succeeded', progress: 1, currentCaseIndex: null });
  expect(await api.stagedBytes()).toBe(0);
  await second.engine.stop();
  return { calls: dying.calls, report: canonicalJson(job.evaluationResult ?? job.result), tries };
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
async function everyDeath(store: () => RecordStore, job: Job, plant?: Plant): Promise<readonly string[]> {
  const { calls, report, tries } = await killedAt(store(), LIVE, job, plant);
  expect(calls).toBeGreaterThan(CASES);
  expect(tries).toBe(job.tries);
  const faults: string[] = [];
  for (let at = 1; at <= calls; at += 1)
    for (const after of [false, true]) {
      const killed = await killedAt(store(), { at, after }, job, plant);
      if (killed.report !== report) faults.push(`another report after call ${at}`);
      // At most the case in flight is tried again.
      if (killed.tries > tries + 1) faults.push(`tried again after call ${at}`);
    }
  return faults;
}

describe.each(jobs)('$name that is killed at every call of its worker', (job) => {
  test('ends with the same report, in memory', async () => {
    expect(await everyDeath(() => new MemoryStore(new MemoryDatabase()), job)).toEqual([]);
  });
});

describe('on SQLite', () => {
  let store: RecordStore;
  beforeAll(async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'svc-retrieval-killed-')), 'retrieval.sqlite');
    store = await openSqliteStore({ path, ...machine, grouping: true, collections: declaredCollections });
  });
  afterAll(() => store.close());

  test.each(jobs)(
    '$name that is killed at every call ends with the same report',
    async (job) => {
      expect(await everyDeath(() => store, job)).toEqual([]);
    },
    120_000,
  );
});

/** The first worker keeps no case. */
const forgetful: Plant = (store) =>
  patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        const isCase = (write: Write) => 'put' in write && write.put.key.collection === 'checkpoints';
        return { ...rest, writes: writes.filter((write) => !isCase(write)) };
      }),
  });

test('the oracle finds a worker that keeps no cases', async () => {
  const memory = () => new MemoryStore(new MemoryDatabase());
  const faults = await everyDeath(memory, jobs[0], forgetful);
  expect(faults.some((fault) => fault.startsWith('tried again'))).toBe(true);
});
