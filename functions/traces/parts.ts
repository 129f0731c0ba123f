import { ReadLanes } from '../collections/read-lanes.ts';
import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';

/** What the functions over traces depend on. The store is opened by the first call that needs it. */
export interface TraceParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: Pick<World, 'clock' | 'random'>;
  readonly limits: TraceLimits;
  /** Places for the calls that read many traces. */
  readonly lanes: ReadLanes;
}

export interface TraceLimits {
  /** Traces that one call may pass over before those that it prunes. */
  readonly readsPerCallMax: number;
  /** Calls that may read many traces at once; 6 where absent. */
  readonly longReadsMax?: number;
  /** Bytes of the traces of one answer. */
  readonly answerBytesMax: number;
  /** How long a trace is kept; `null`: until it is pruned. */
  readonly retentionMs: number | null;
}

/** The parts with the places of a process. */
export function createTraceParts({
  store,
  world,
  limits,
}: Pick<TraceParts, 'store' | 'limits'> & {
  readonly world: Pick<World, 'clock' | 'random' | 'timers'>;
}): TraceParts {
  const lanes = new ReadLanes({ timers: world.timers, longReadsMax: limits.longReadsMax });
  return { store, world, limits, lanes };
}
