import { announceSpace, type SpaceRetention, sweepSpaces } from '../collections/space-retention.ts';
import type { TraceParts } from './parts.ts';
import { pruneTraces } from './prune-traces.ts';
import { spaceScope, TRACE_RETENTION, tracesOf } from './store-collections.ts';

/** The most traces that are removed in one space before the next space has its turn. */
const SLICE = 500;

/** Registers the space for upkeep. Costs one write in each hour in which a process writes traces there. */
export async function announceRetention(parts: TraceParts, space: string): Promise<void> {
  await announceSpace(retentionOf(parts), space);
}

/** Removes the traces that are older than the retention, in the spaces that are due. Answers how many it removed. */
export async function removeOldTraces(parts: TraceParts, isOver: () => boolean): Promise<number> {
  return sweepSpaces(retentionOf(parts), isOver, async (space, now, retentionMs) => {
    const selection = {
      operation: null,
      olderThan: now - retentionMs,
      keepLatest: 0,
      limit: SLICE,
      dryRun: false,
    };
    const { matchedIds, deletedIds } = await pruneTraces(parts, space, selection);
    if (matchedIds.length === SLICE) return { removed: deletedIds.length, left: 'old' };
    return { removed: deletedIds.length, left: (await hasTraces(parts, space)) ? 'young' : 'none' };
  });
}

async function hasTraces({ store }: TraceParts, space: string): Promise<boolean> {
  const list = { ...tracesOf(null), view: 'head' as const, limit: 1 };
  const { records } = await (await store()).query(spaceScope(space), { by: 'list', ...list });
  return records.length > 0;
}

function retentionOf({ store, world, limits, announced }: TraceParts): SpaceRetention {
  return { store, clock: world.clock, retentionMs: limits.retentionMs, spaces: TRACE_RETENTION, announced };
}
