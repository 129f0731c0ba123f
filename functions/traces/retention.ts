import type { RecordStore } from '../store/port.ts';
import type { TraceParts } from './parts.ts';
import { pruneTraces } from './prune-traces.ts';
import { retentionKey, TRACE_RETENTION, UPKEEP_SCOPE, upkeepListing } from './store-collections.ts';

/** A space is looked at so often, so a trace is kept at most this much longer than the setting says. */
const INTERVAL_MS = 3_600_000;
/** Time to prune a part of a space before another process may take it. */
const CLAIM_MS = 120_000;
const CLAIMED_MAX = 100;
/** Traces of one space before the next one has its turn. */
const SLICE = 500;

/** Spaces whose retention a store knows of: each store of a process has its own. */
const announced = new WeakMap<RecordStore, Set<string>>();

/** Makes upkeep look at the space from now on. Costs nothing after the first trace that a process writes there. */
export async function announceRetention(parts: TraceParts, space: string): Promise<void> {
  if (parts.limits.retentionMs === null) return;
  const store = await parts.store();
  const known = announced.get(store) ?? new Set();
  announced.set(store, known);
  if (known.has(space)) return;
  const key = retentionKey(space);
  const due = parts.world.clock.now() + INTERVAL_MS;
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, (found) => {
    const put = { key, head: { space }, body: null, listing: upkeepListing(key), due };
    return { writes: found.get(key) === undefined ? [{ put }] : [], result: null };
  });
  known.add(space);
}

/**
 * Removes the traces that are older than the retention, in the spaces that are due. The spaces take turns; where the time is
 * over, the next call goes on. Answers how many it removed. A space that fails does not stop the others; the first failure is
 * thrown at the end.
 */
export async function removeOldTraces(parts: TraceParts, isOver: () => boolean): Promise<number> {
  const { retentionMs } = parts.limits;
  if (retentionMs === null) return 0;
  const store = await parts.store();
  const now = parts.world.clock.now();
  const claimed = { now, limit: CLAIMED_MAX };
  const queue = await store.claim<string>(UPKEEP_SCOPE, TRACE_RETENTION, claimed, ({ key, head }) => ({
    put: { key, head, due: now + CLAIM_MS },
    result: String(head['space']),
  }));
  const selection = {
    operation: null,
    olderThan: now - retentionMs,
    keepLatest: 0,
    limit: SLICE,
    dryRun: false,
  };
  const failures: unknown[] = [];
  let removed = 0;
  for (let space = queue.shift(); space !== undefined && !isOver(); space = queue.shift()) {
    try {
      const { matchedIds, deletedIds } = await pruneTraces(parts, space, selection);
      removed += deletedIds.length;
      if (matchedIds.length === SLICE) queue.push(space);
      else await lookAgain(store, space, now + INTERVAL_MS);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

async function lookAgain(store: RecordStore, space: string, due: number): Promise<void> {
  const key = retentionKey(space);
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const intent = found.get(key);
    return { writes: intent === undefined ? [] : [{ put: { key, head: intent.head, due } }], result: null };
  });
}
