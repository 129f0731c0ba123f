import type { Full } from '../kernel/full.ts';
import type { LoadedRecords, RecordData, RecordKey, Write } from '../store/port.ts';
import { activeCounterKey, jobCounterKey, jobShareKey, runShareKey, shardOf } from './records.ts';
import type { Run } from './run.ts';
import { type JobOwner, jobOwner, type OwnedRun } from './run-job.ts';
import type { CeilingName, RuntimeOptions } from './runtime.ts';

/** Counter records bound the number of active runs. Several shards share a ceiling, so that starts do not contend. */

export interface ActiveCounter {
  readonly key: RecordKey;
  readonly ceiling: CeilingName;
  /** How many runs it admits. The quotas of all shards add up to their ceiling. */
  readonly max: number;
  /** Counts the runs or jobs of one owner. Such a record exists only while it counts something. */
  readonly isShare?: true;
  /** The number of the shard, in a share of runs. */
  readonly shard?: number;
  /** Other shards count for the same owner too, so one of them may have room. */
  readonly isSharded?: true;
}

/**
 * The counters of a new run; none if its ceiling is unlimited. A run counts in all and for its product and tenant. Jobs count
 * against a ceiling of their own and for their space.
 */
export function countersOf(
  options: RuntimeOptions,
  { id, scope, job }: OwnedRun & { readonly id: string },
): readonly ActiveCounter[] {
  const ceiling = ceilingOf(options, job !== undefined);
  if (ceiling === null) return [];
  const shard = shardOf(id, options.counterShards);
  const max = quotaOf(ceiling, shard, options.counterShards);
  if (job === undefined) {
    const whole = { key: activeCounterKey(shard), max, ceiling: 'runs' } as const;
    if (scope === null) return [whole];
    return [whole, shareOf(options, scope, shard)];
  }
  const share = {
    key: jobShareKey(jobOwner(job)),
    max: options.jobShareMax,
    ceiling: 'jobShare',
    isShare: true,
  } as const;
  return [{ key: jobCounterKey(shard), max, ceiling: 'jobs' }, share];
}

/** A smaller share has one counter: its shards would have room for so few runs that they refuse a run too early. */
const SHARDED_MIN = 256;

function shareOf(
  { runShareMax, counterShards }: RuntimeOptions,
  scope: JobOwner,
  shard: number,
): ActiveCounter {
  const ceiling = 'runShare';
  if (!isShareSharded({ runShareMax, counterShards }))
    return { key: runShareKey(scope, 0), max: runShareMax, ceiling, isShare: true, shard: 0 };
  const max = quotaOf(runShareMax, shard, counterShards);
  return { key: runShareKey(scope, shard), max, ceiling, isShare: true, shard, isSharded: true };
}

type ShareOptions = Pick<RuntimeOptions, 'runShareMax' | 'counterShards'>;

function isShareSharded({ runShareMax, counterShards }: ShareOptions): boolean {
  return counterShards > 1 && runShareMax >= SHARDED_MIN;
}

/** How many runs the smallest counter of a share of runs admits. */
export function shareCounterMax(options: ShareOptions): number {
  const { runShareMax, counterShards } = options;
  return isShareSharded(options) ? Math.floor(runShareMax / counterShards) : runShareMax;
}

/** The counters that counted this run when it began. */
export function countersOfRun(options: RuntimeOptions, run: Run): readonly ActiveCounter[] {
  const all = countersOf(options, run);
  const { job, scope, sharesCounted, shareShard } = run;
  if (job !== undefined || scope === null) return all;
  if (sharesCounted !== true) return all.filter(({ isShare }) => isShare !== true);
  // Settings that changed since may count new runs of this owner in other shards.
  if (shareShard === undefined) return all;
  return all.map((each) => (each.isShare === true ? { ...each, key: runShareKey(scope, shareShard) } : each));
}

export function shardsOf({ counterShards }: RuntimeOptions): readonly number[] {
  return Array.from({ length: counterShards }, (_, shard) => shard);
}

/** The members by which a run remembers the counters that count it. */
export function countedBy(
  counters: readonly ActiveCounter[],
): Pick<Run, 'counted' | 'sharesCounted' | 'shareShard'> {
  const counted = counters.length > 0;
  const share = counters.find(({ isShare }) => isShare === true);
  if (share === undefined) return { counted };
  const { shard } = share;
  return { counted, sharesCounted: true, ...(shard === undefined ? {} : { shareShard: shard }) };
}

/** A full counter that no other shard helps. */
export function isFinal({ isShare, isSharded }: ActiveCounter): boolean {
  return isShare === true && isSharded !== true;
}

const BOUNDED: Readonly<Record<CeilingName, string>> = {
  runs: 'runs of the deployment are queued, running or waiting',
  runShare: 'runs of this product and tenant are queued, running or waiting',
  jobs: 'jobs of the deployment are queued, running or waiting',
  jobShare: 'jobs of this space are queued, running or waiting',
};

/** The number of runs or jobs in the counters of one shard, by the ceiling that they count against. */
export type ActiveCounts = Readonly<Partial<Record<CeilingName, number>>>;

export function countsIn(found: LoadedRecords, counters: readonly ActiveCounter[]): ActiveCounts {
  return Object.fromEntries(counters.map(({ ceiling, key }) => [ceiling, activeCount(found, key)]));
}

export function sumOfCounts(left: ActiveCounts, right: ActiveCounts): ActiveCounts {
  const names = Object.keys({ ...left, ...right }) as CeilingName[];
  return Object.fromEntries(names.map((name) => [name, (left[name] ?? 0) + (right[name] ?? 0)]));
}

/**
 * The reason why a run was not admitted: the full counter's ceiling, and the numbers in the counters that were read.
 */
export function fullOf(options: RuntimeOptions, { ceiling, max }: ActiveCounter, counts: ActiveCounts): Full {
  const limits: Readonly<Record<CeilingName, number | null>> = {
    runs: options.activeRunsMax,
    runShare: options.runShareMax,
    jobs: options.activeJobsMax,
    jobShare: options.jobShareMax,
  };
  const limit = limits[ceiling] ?? max;
  const used = counts[ceiling] ?? limit;
  const setting = options.ceilingSettings[ceiling];
  return { detail: `${used} of ${limit} ${BOUNDED[ceiling]} (${setting})`, limit, used, setting };
}

export function ceilingOf({ activeRunsMax, activeJobsMax }: RuntimeOptions, isJob: boolean): number | null {
  return isJob ? activeJobsMax : activeRunsMax;
}

function quotaOf(ceiling: number, shard: number, shards: number): number {
  return Math.floor(ceiling / shards) + (shard < ceiling % shards ? 1 : 0);
}

export function activeCount(found: LoadedRecords, counter: RecordKey): number {
  const active = found.get(counter)?.head.active;
  return typeof active === 'number' ? active : 0;
}

export function isFull(found: LoadedRecords, { key, max }: ActiveCounter): boolean {
  return activeCount(found, key) >= max;
}

/** Facts about its writers in a counter of all runs or all jobs. A server of release 0.5.0 writes the number only. */
export interface Writers {
  /** The time since which only servers of 0.6.0 or later have written it; 0: always. */
  readonly since: number;
  /** Whether a repair has compared the shares since then. */
  readonly compared: boolean;
}

export function writersOf({ head }: RecordData): Writers | null {
  return typeof head.since === 'number' ? { since: head.since, compared: head.compared === true } : null;
}

export const ALWAYS: Writers = { since: 0, compared: true };

export function counterRecord(key: RecordKey, active: number, writers: Writers | null): RecordData {
  return { key, head: { active, ...writers } };
}

/** Whether the shares of these counters hold: a run that a server of release 0.5.0 ends stays in its share until a repair. */
export function sharesHold(found: LoadedRecords, counters: readonly ActiveCounter[]): boolean {
  return counters.every(({ key, isShare }) => {
    const counter = found.get(key);
    return isShare === true || counter === undefined || writersOf(counter)?.compared === true;
  });
}

export function incremented(found: LoadedRecords, counter: ActiveCounter, by = 1): Write {
  return changed(found, counter, activeCount(found, counter.key) + by);
}

export function decremented(found: LoadedRecords, counter: ActiveCounter): Write {
  return changed(found, counter, Math.max(0, activeCount(found, counter.key) - 1));
}

/** The record of a counter in a store that is being loaded. */
export function newCounter({ key, isShare }: ActiveCounter, active: number): RecordData {
  return isShare === true ? { key, head: { active } } : counterRecord(key, active, ALWAYS);
}

function changed(found: LoadedRecords, { key, isShare }: ActiveCounter, active: number): Write {
  if (isShare === true) return active === 0 ? { remove: key } : { put: { key, head: { active } } };
  const before = found.get(key);
  return { put: counterRecord(key, active, before === undefined ? ALWAYS : writersOf(before)) };
}
