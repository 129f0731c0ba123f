import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordKey } from '../store/port.ts';
import { shardsOf, shareCounterMax } from './active-runs.ts';
import {
  activeCounterKey,
  COUNTERS,
  jobCounterKey,
  jobShareKey,
  RUN_GROUP,
  RUN_INDEX,
  RUNS,
  readRun,
  runShareKey,
} from './records.ts';
import type { Run, RunStatus } from './run.ts';
import { jobOwner } from './run-job.ts';
import type { CeilingName, Runtime, RuntimeOptions } from './runtime.ts';

/** A ceiling of active runs or jobs, and how much of it is used. */
export interface CeilingUse {
  readonly ceiling: CeilingName;
  /** The owner of a share; `null` where no run names its owner, and for the whole deployment. */
  readonly owner: string | null;
  readonly used: number;
  readonly limit: number;
  readonly setting: string;
}

export interface NearCeilings {
  readonly uses: readonly CeilingUse[];
  /** Whether counters show nearly full shares of owners that the read runs do not name. */
  readonly hasFurther: boolean;
}

const PAGE = 200;
/** Active runs of each status that are read for the names of owners: one that nearly fills its share has many of them. */
const RUNS_READ = 10_000;
const ACTIVE: readonly RunStatus[] = ['waiting', 'queued', 'running'];

/** Reads the ceilings of active runs and jobs that are used to the given percentage or more. Writes nothing. */
export async function nearCeilings(
  runtime: Runtime,
  percent: number,
  runsRead = RUNS_READ,
): Promise<NearCeilings> {
  const counts = await countsOf(runtime);
  const isNear = ({ used, limit }: CeilingUse) => used > 0 && used * 100 >= limit * percent;
  const whole = wholeUses(runtime, counts).filter(isNear);
  const { runShareMax, jobShareMax, counterShards } = runtime.options;
  const ofShares = shareCounts(runtime, counts);
  const least = (Math.min(runShareMax, jobShareMax) * percent) / 100 / counterShards;
  if (!ofShares.some(([, active]) => active >= least)) return { uses: whole, hasFurther: false };
  const { uses, known, isCut } = await shareUses(runtime, counts, runsRead);
  const full = (leastFull(runtime.options) * percent) / 100;
  // Where all runs were read, a counter that no run explains is one that the next repair corrects.
  const hasFurther = isCut && ofShares.some(([id, active]) => !known.has(id) && active >= full);
  return { uses: [...whole, ...uses.filter(isNear)], hasFurther };
}

/** The counters of shares. */
function shareCounts({ options }: Runtime, counts: ReadonlyMap<string, number>) {
  const shards = shardsOf(options);
  const ofWhole = new Set(
    [...shards.map(activeCounterKey), ...shards.map(jobCounterKey)].map(({ id }) => id),
  );
  return [...counts].filter(([id]) => !ofWhole.has(id));
}

/** The limit of the smallest counter of a share: its id does not name its kind. */
function leastFull(options: RuntimeOptions): number {
  const { activeRunsMax, activeJobsMax, jobShareMax } = options;
  return Math.min(
    activeRunsMax === null ? Number.POSITIVE_INFINITY : shareCounterMax(options),
    activeJobsMax === null ? Number.POSITIVE_INFINITY : jobShareMax,
  );
}

/** The counters, by their ids. */
async function countsOf({ store, scope }: Runtime): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const pages = (await store()).scan(scope, { collections: [COUNTERS.name], pageSize: PAGE });
  for await (const { records } of pages)
    for (const { key, head } of records) if (typeof head.active === 'number') counts.set(key.id, head.active);
  return counts;
}

function wholeUses({ options }: Runtime, counts: ReadonlyMap<string, number>): readonly CeilingUse[] {
  const { activeRunsMax, activeJobsMax, ceilingSettings } = options;
  const ofAll = [
    ['runs', activeRunsMax, activeCounterKey],
    ['jobs', activeJobsMax, jobCounterKey],
  ] as const;
  return ofAll.flatMap(([ceiling, limit, keyOf]) => {
    if (limit === null) return [];
    const used = sumOf(counts, shardsOf(options).map(keyOf));
    return [{ ceiling, owner: null, used, limit, setting: ceilingSettings[ceiling] }];
  });
}

/** The shares of the owners with active runs, and the ids of their counters. */
async function shareUses(runtime: Runtime, counts: ReadonlyMap<string, number>, runsRead: number) {
  const uses = new Map<string, CeilingUse>();
  const known = new Set<string>();
  let isCut = false;
  for (const status of ACTIVE) {
    let read = 0;
    for await (const run of activeRuns(runtime, status)) {
      const share = shareOf(runtime, run, counts);
      for (const { id } of share?.keys ?? []) known.add(id);
      if (share !== null) uses.set(`${share.use.ceiling} ${share.use.owner}`, share.use);
      read += 1;
      if (read >= runsRead) break;
    }
    isCut ||= read >= runsRead;
  }
  return { uses: [...uses.values()], known, isCut };
}

async function* activeRuns(runtime: Runtime, status: RunStatus): AsyncGenerator<Run> {
  const equal = { [RUN_INDEX.status]: status };
  const selection = { collection: RUNS, group: RUN_GROUP, equal, limit: PAGE };
  for await (const record of recordsOf(listPages(await runtime.store(), runtime.scope, selection)))
    yield readRun(record);
}

interface Share {
  readonly use: CeilingUse;
  /** The keys of its counters. */
  readonly keys: readonly RecordKey[];
}

function shareOf(
  { options }: Runtime,
  { job, scope }: Run,
  counts: ReadonlyMap<string, number>,
): Share | null {
  const { ceilingSettings, runShareMax, jobShareMax, activeRunsMax, activeJobsMax } = options;
  if (job !== undefined) {
    if (activeJobsMax === null) return null;
    const keys = [jobShareKey(jobOwner(job))];
    const of = { ceiling: 'jobShare', owner: `space ${job.space}`, limit: jobShareMax } as const;
    return { keys, use: { ...of, used: sumOf(counts, keys), setting: ceilingSettings.jobShare } };
  }
  if (scope === null || activeRunsMax === null) return null;
  const keys = shardsOf(options).map((shard) => runShareKey(scope, shard));
  const owner = `tenant ${scope.tenantId} of product ${scope.productId}`;
  const of = { ceiling: 'runShare', owner, limit: runShareMax } as const;
  return { keys, use: { ...of, used: sumOf(counts, keys), setting: ceilingSettings.runShare } };
}

function sumOf(counts: ReadonlyMap<string, number>, keys: readonly RecordKey[]): number {
  return keys.reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0);
}
