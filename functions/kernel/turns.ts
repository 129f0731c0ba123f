import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from './world.ts';

/** Long work of one call, in parts: between two parts the other calls of the process get their turn. */
export interface Turns {
  /** Whether the work has held the process long enough. */
  readonly due: () => boolean;
  /** Lets the others work. */
  readonly next: () => Promise<void>;
}

const PART_MS = 10;

/** Asked for after each small step, since the clock is cheap; a clock that stands still gives no turn. */
export function turnsOf(clock: Clock): Turns {
  let since = clock.now();
  return {
    due: () => clock.now() - since >= PART_MS,
    next: async () => {
      await nextTurn();
      since = clock.now();
    },
  };
}
