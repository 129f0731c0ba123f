import { ReadLanes } from '../collections/read-lanes.ts';
import type { AnnouncedSpaces } from '../collections/space-retention.ts';
import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';

/** The dependencies of the functions over traces. The first call that needs the store opens it. */
export interface TraceParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: Pick<World, 'clock' | 'random' | 'turns'>;
  readonly limits: TraceLimits;
  /** Places for the calls that read many traces. */
  readonly lanes: ReadLanes;
  readonly announced: AnnouncedSpaces;
}

/** @testonly */
export interface TraceLimits {
  /** The most traces that one call may pass over before those that it prunes. */
  readonly readsPerCallMax: number;
  /** The most bytes of the traces of one answer. */
  readonly answerBytesMax: number;
  /** How long a trace is kept; `null`: until it is pruned. */
  readonly retentionMs: number | null;
}

/** The parts with the caches of a process; with their own lanes if none are given. */
export function createTraceParts({
  lanes,
  ...own
}: Pick<TraceParts, 'store' | 'limits'> & {
  readonly world: Pick<World, 'clock' | 'random' | 'timers' | 'turns'>;
  readonly lanes?: ReadLanes;
}): TraceParts {
  return { ...own, lanes: lanes ?? new ReadLanes({ timers: own.world.timers }), announced: new Map() };
}
