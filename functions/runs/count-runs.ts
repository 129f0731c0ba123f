import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordKey } from '../store/port.ts';
import { shardsOf } from './active-runs.ts';
import type { RunLane } from './list-runs.ts';
import { activeCounterKey, RUN_GROUP, RUN_INDEX, RUNS, runShareKey } from './records.ts';
import type { RunStatus } from './run.ts';
import type { Runtime } from './runtime.ts';
import { isIndexedByScope, isMaximal, lanesOf, type RunPart } from './scope-index.ts';

/** Number of active runs by their counter records; `null` if active runs have no ceiling. */
export async function countActive(runtime: Runtime): Promise<number | null> {
  const { activeRunsMax } = runtime.options;
  return activeRunsMax === null ? null : sumOf(runtime, shardsOf(runtime.options).map(activeCounterKey));
}

/** Active runs that one count reads; the number is unknown beyond them. */
const COUNTED_MAX = 1_000;
const PAGE = 200;
/** The most parts of one count: each costs queries. */
const PARTS_MAX = 64;
const ACTIVE: readonly RunStatus[] = ['queued', 'running', 'waiting'];

/** Number of active runs in these parts of all runs; `null` if the runs have no ceiling, or are too many to count. */
export async function countVisible(runtime: Runtime, parts: readonly RunPart[]): Promise<number | null> {
  if (runtime.options.activeRunsMax === null) return null;
  const distinct = new Map(parts.filter(isMaximal).map((part) => [JSON.stringify(part), part]));
  const own = [...distinct.values()];
  if (own.length > PARTS_MAX) return null;
  // Until all runs are indexed, the shares lack runs of an earlier release.
  if (!(await isIndexedByScope(runtime, runtime.world.clock.now()))) return null;
  if (own.every(hasShare)) {
    const shards = shardsOf(runtime.options);
    return sumOf(
      runtime,
      own.flatMap((part) => shards.map((shard) => runShareKey(part, shard))),
    );
  }
  const ids = new Set<string>();
  for (const lane of lanesOf(own)) if (!(await addActive(runtime, lane, ids))) return null;
  return ids.size;
}

/** Whether the part has a counter of active runs. */
function hasShare(part: RunPart): part is RunPart & { readonly tenantId: string } {
  return part.tenantId !== null && part.handlerId === null;
}

async function sumOf(runtime: Runtime, keys: readonly RecordKey[]): Promise<number> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: keys.map((key) => ({ key })) });
  return records.reduce((sum, { head }) => sum + (typeof head.active === 'number' ? head.active : 0), 0);
}

/** Adds the ids of the active runs of the lane; `false` where they are too many. */
async function addActive(runtime: Runtime, lane: RunLane, ids: Set<string>): Promise<boolean> {
  const store = await runtime.store();
  for (const status of ACTIVE) {
    const equal = { ...lane, [RUN_INDEX.status]: status };
    const selection = { collection: RUNS, group: RUN_GROUP, equal, limit: PAGE };
    for await (const { head } of recordsOf(listPages(store, runtime.scope, selection))) {
      ids.add(String(head.id));
      if (ids.size > COUNTED_MAX) return false;
    }
  }
  return true;
}
