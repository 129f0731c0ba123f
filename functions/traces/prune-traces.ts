import type { ReadCall } from '../collections/read-call.ts';
import type { ReadLane } from '../collections/read-lanes.ts';
import { ServiceError } from '../kernel/errors.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { LoadedRecords, RecordStore, Write } from '../store/port.ts';
import type { TraceParts } from './parts.ts';
import { withoutTrace } from './rules/counts.ts';
import type { PruneSelection } from './rules/prune-request.ts';
import { countsKey, orderBefore, spaceScope, traceKey, tracesOf } from './store-collections.ts';
import { countsIn, countsRecord, type TraceHead, traceHeadIn } from './stored-trace.ts';

/** Traces of one commit. */
const CHUNK = 50;
const PAGE = 500;

export interface PruneResult {
  readonly matchedIds: readonly string[];
  readonly deletedIds: readonly string[];
}

/**
 * Removes old traces with their counts, 50 in a commit. The selection is sorted from the newest; of it the newest `keepLatest`
 * stay, and at most `limit` of the others are removed. A trace that another call removed meanwhile counts as matched, not as deleted.
 */
export async function pruneTraces(
  parts: TraceParts,
  space: string,
  selection: PruneSelection,
  call: Pick<ReadCall, 'signal'> = {},
): Promise<PruneResult> {
  const store = await parts.store();
  const match = (lane: ReadLane) => matchTraces(parts, space, selection, { store, lane });
  const matched = await parts.lanes.run(space, match, call);
  const matchedIds = matched.map(({ id }) => id);
  if (selection.dryRun) return { matchedIds, deletedIds: [] };
  const deletedIds: string[] = [];
  for (let at = 0; at < matched.length; at += CHUNK)
    deletedIds.push(...(await removeTraces(store, space, matched.slice(at, at + CHUNK))));
  return { matchedIds, deletedIds };
}

async function matchTraces(
  { limits }: TraceParts,
  space: string,
  { operation, olderThan, keepLatest, limit }: PruneSelection,
  { store, lane }: { readonly store: RecordStore; readonly lane: ReadLane },
): Promise<readonly TraceHead[]> {
  if (keepLatest > limits.readsPerCallMax) {
    const detail = `The call would pass over more than ${limits.readsPerCallMax} traces. Use a smaller \`keepLatest\`, or \`olderThan\`.`;
    throw new ServiceError('query_budget_exceeded', detail);
  }
  const from = olderThan === null ? {} : { afterId: orderBefore(olderThan) };
  const list = { ...tracesOf(operation), ...from, view: 'head' as const };
  const pages = listPages(store, spaceScope(space), { ...list, limit: Math.min(PAGE, keepLatest + limit) });
  const matched: TraceHead[] = [];
  let passed = 0;
  for await (const record of recordsOf(pages)) {
    lane.passed(1, 0);
    passed += 1;
    if (passed > keepLatest) matched.push(traceHeadIn(record));
    if (matched.length === limit) break;
  }
  return matched;
}

/** Returns the ids of the traces that this call removed. */
function removeTraces(
  store: RecordStore,
  space: string,
  traces: readonly TraceHead[],
): Promise<readonly string[]> {
  const shards = new Map(
    traces.map(({ operation, counted: { shard } }) => [`${operation}:${shard}`, { operation, shard }]),
  );
  const keys = [
    ...traces.map(({ id }) => ({ key: traceKey(id) })),
    ...[...shards.values()].map(({ operation, shard }) => ({
      key: countsKey(operation, shard),
      view: 'body' as const,
    })),
  ];
  return store.transact(spaceScope(space), { keys, frees: true }, (found) => {
    const present = traces.filter(({ id }) => found.get(traceKey(id)) !== undefined);
    const counts = [...shards.values()].flatMap((place) => countsAfter(found, place, present));
    const removals: Write[] = present.map(({ id }) => ({ remove: traceKey(id) }));
    return { writes: [...removals, ...counts], result: present.map(({ id }) => id) };
  });
}

function countsAfter(
  found: LoadedRecords,
  { operation, shard }: { readonly operation: string; readonly shard: number },
  removed: readonly TraceHead[],
): readonly Write[] {
  const record = found.get(countsKey(operation, shard));
  const own = removed.filter((each) => each.operation === operation && each.counted.shard === shard);
  if (record === undefined || own.length === 0) return [];
  const counts = own.reduce(
    (left, { counted }) => withoutTrace(left, counted.values),
    countsIn(record).counts,
  );
  return [{ put: countsRecord(operation, shard, counts) }];
}
