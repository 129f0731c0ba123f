import type { Settings } from '../config/table.ts';
import type { Lazy } from '../kernel/lazy.ts';
import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import type { DamageLog } from '../store/damage.ts';
import type { RecordStore } from '../store/port.ts';

/** The parts of one process from which its layers are made. */
export interface LayerParts {
  readonly settings: Settings;
  readonly world: World;
  readonly store: Lazy<RecordStore>;
  readonly log: Log;
  readonly damage: DamageLog;
  /** Whether local files are read so that nothing of them changes. */
  readonly readOnly?: boolean;
  /** The layers made so far, by the functions that make them. */
  readonly layers: Map<unknown, unknown>;
}

/**
 * A layer that exists once in a process: the first group that asks for it makes it, and all others receive the same. So its
 * bounds and caches hold for the process, not for each group.
 */
export function layer<Parts extends LayerParts, Made>(make: (parts: Parts) => Made): (parts: Parts) => Made {
  return (parts) => {
    const { layers } = parts;
    if (!layers.has(make)) layers.set(make, make(parts));
    // Only the line above sets it.
    return layers.get(make) as Made;
  };
}
