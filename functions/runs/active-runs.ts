import type { Found, RecordKey, Write } from '../store/port.ts';
import { activeCounterKey, shardOf } from './records.ts';
import type { RuntimeOptions } from './runtime.ts';

/** Counter records bound the number of active runs. Several shards share the ceiling, so that starts do not contend. */

/** The counter record of this run; `null` if active runs have no ceiling. */
export function counterKeyOf(options: RuntimeOptions, runId: string): RecordKey | null {
  if (options.activeRunsMax === null) return null;
  return activeCounterKey(shardOf(runId, options.counterShards));
}

/** How many runs one shard admits. The quotas of all shards add up to the ceiling. */
export function quotaOf({ activeRunsMax, counterShards }: RuntimeOptions, shard: number): number {
  if (activeRunsMax === null) return Number.POSITIVE_INFINITY;
  return Math.floor(activeRunsMax / counterShards) + (shard < activeRunsMax % counterShards ? 1 : 0);
}

export function activeCount(found: Found, counter: RecordKey): number {
  const active = found.get(counter)?.head.active;
  return typeof active === 'number' ? active : 0;
}

export function incremented(found: Found, counter: RecordKey): Write {
  return { put: { key: counter, head: { active: activeCount(found, counter) + 1 } } };
}

export function decremented(found: Found, counter: RecordKey): Write {
  return { put: { key: counter, head: { active: Math.max(0, activeCount(found, counter) - 1) } } };
}
