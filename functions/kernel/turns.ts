import { setImmediate } from 'node:timers/promises';
import type { Clock } from './world.ts';

/** Long work of one call, in parts: between two parts the other calls of the process get their turn. */
export interface Turns {
  /** Whether the work has held the process long enough. */
  readonly due: () => boolean;
  /** Lets the others work. */
  readonly next: () => Promise<void>;
}

const PART_MS = 10;

/** Lets the other calls of the process work, once. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** Asked for after each small step, since the clock is cheap; a clock that stands still gives no turn. */
export function turnsOf(clock: Clock, partMs = PART_MS): Turns {
  let since = clock.now();
  return {
    due: () => clock.now() - since >= partMs,
    next: async () => {
      await nextTurn();
      since = clock.now();
    },
  };
}

/** Does work that comes in steps, and lets the others work between two of them. */
export async function inTurns<Result>(steps: Generator<void, Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (turns.due()) await turns.next();
  }
}
