import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordKey } from '../store/port.ts';
import { shardsOf } from './active-runs.ts';
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
import type { CeilingName, Runtime } from './runtime.ts';

/** A ceiling of active runs or jobs, and how much of it is used. */
export interface CeilingUse {
  readonly ceiling: CeilingName;
  /** Of a share; `null` where no run names its owner, and for the whole deployment. */
  readonly owner: string | null;
  readonly used: number;
  readonly limit: number;
  readonly setting: string;
}

const PAGE = 200;
/** Active runs that are read for the names of owners: one that nearly fills its share has many of them. */
const RUNS_READ = 10_000;
const ACTIVE: readonly RunStatus[] = ['waiting', 'queued', 'running'];

/** The ceilings of active runs and jobs of which so many percent or more are used. Reads, and writes nothing. */
export async function nearCeilings(runtime: Runtime, percent: number): Promise<readonly CeilingUse[]> {
  const counts = await countsOf(runtime);
  const isNear = ({ used, limit }: CeilingUse) => used > 0 && used * 100 >= limit * percent;
  const whole = wholeUses(runtime, counts).filter(isNear);
  const { runShareMax, jobShareMax, counterShards } = runtime.options;
  const shards = shardsOf(runtime.options);
  const ofWhole = new Set(
    [...shards.map(activeCounterKey), ...shards.map(jobCounterKey)].map(({ id }) => id),
  );
  const least = (Math.min(runShareMax, jobShareMax) * percent) / 100 / counterShards;
  const isAnyFull = [...counts].some(([id, active]) => !ofWhole.has(id) && active >= least);
  return isAnyFull ? [...whole, ...(await shareUses(runtime, counts)).filter(isNear)] : whole;
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

/** The shares of the owners whose runs are active. */
async function shareUses(
  runtime: Runtime,
  counts: ReadonlyMap<string, number>,
): Promise<readonly CeilingUse[]> {
  const uses = new Map<string, CeilingUse>();
  for await (const run of activeRuns(runtime)) {
    const use = shareOf(runtime, run, counts);
    if (use !== null) uses.set(`${use.ceiling} ${use.owner}`, use);
  }
  return [...uses.values()];
}

async function* activeRuns(runtime: Runtime): AsyncGenerator<Run> {
  const store = await runtime.store();
  for (const status of ACTIVE) {
    let read = 0;
    const equal = { [RUN_INDEX.status]: status };
    const selection = { collection: RUNS, group: RUN_GROUP, equal, limit: PAGE };
    for await (const record of recordsOf(listPages(store, runtime.scope, selection))) {
      yield readRun(record);
      read += 1;
      if (read >= RUNS_READ) break;
    }
  }
}

function shareOf(
  { options }: Runtime,
  { job, scope }: Run,
  counts: ReadonlyMap<string, number>,
): CeilingUse | null {
  const { ceilingSettings, runShareMax, jobShareMax, activeRunsMax, activeJobsMax } = options;
  if (job !== undefined) {
    if (activeJobsMax === null) return null;
    const used = sumOf(counts, [jobShareKey(jobOwner(job))]);
    return {
      ceiling: 'jobShare',
      owner: `space ${job.space}`,
      used,
      limit: jobShareMax,
      setting: ceilingSettings.jobShare,
    };
  }
  if (scope === null || activeRunsMax === null) return null;
  const used = sumOf(
    counts,
    shardsOf(options).map((shard) => runShareKey(scope, shard)),
  );
  const owner = `tenant ${scope.tenantId} of product ${scope.productId}`;
  return { ceiling: 'runShare', owner, used, limit: runShareMax, setting: ceilingSettings.runShare };
}

function sumOf(counts: ReadonlyMap<string, number>, keys: readonly RecordKey[]): number {
  return keys.reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0);
}
