import type { Found, RecordKey, Write } from '../store/port.ts';
import { activeCounterKey, jobCounterKey, jobShareKey, shardOf } from './records.ts';
import { jobOwner, type OwnedRun } from './run-job.ts';
import type { RuntimeOptions } from './runtime.ts';

/** Counter records bound the number of active runs. Several shards share a ceiling, so that starts do not contend. */

export interface ActiveCounter {
  readonly key: RecordKey;
  /** How many runs it admits. The quotas of all shards add up to their ceiling. */
  readonly max: number;
  /** Counts the jobs of one owner. Such a record exists only while it counts something. */
  readonly isShare?: true;
}

/** The counters of this run; none if its ceiling is unlimited. Jobs count against a ceiling and a share of their own. */
export function countersOf(
  options: RuntimeOptions,
  { id, scope, job }: OwnedRun & { readonly id: string },
): readonly ActiveCounter[] {
  const ceiling = ceilingOf(options, job !== undefined);
  if (ceiling === null) return [];
  const shard = shardOf(id, options.counterShards);
  const max = quotaOf(ceiling, shard, options.counterShards);
  if (job === undefined) return [{ key: activeCounterKey(shard), max }];
  const share = { key: jobShareKey(jobOwner(scope, job)), max: options.jobShareMax, isShare: true } as const;
  return [{ key: jobCounterKey(shard), max }, share];
}

export function ceilingOf({ activeRunsMax, activeJobsMax }: RuntimeOptions, isJob: boolean): number | null {
  return isJob ? activeJobsMax : activeRunsMax;
}

function quotaOf(ceiling: number, shard: number, shards: number): number {
  return Math.floor(ceiling / shards) + (shard < ceiling % shards ? 1 : 0);
}

export function activeCount(found: Found, counter: RecordKey): number {
  const active = found.get(counter)?.head.active;
  return typeof active === 'number' ? active : 0;
}

export function isFull(found: Found, { key, max }: ActiveCounter): boolean {
  return activeCount(found, key) >= max;
}

export function incremented(found: Found, { key }: ActiveCounter): Write {
  return { put: { key, head: { active: activeCount(found, key) + 1 } } };
}

export function decremented(found: Found, { key, isShare }: ActiveCounter): Write {
  const active = Math.max(0, activeCount(found, key) - 1);
  return isShare === true && active === 0 ? { remove: key } : { put: { key, head: { active } } };
}
