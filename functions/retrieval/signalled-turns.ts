import { type Turns, turnsOf } from '../kernel/turns.ts';
import type { Clock } from '../kernel/world.ts';

/** Turns of work that nobody waits for once its call has ended: the next turn throws then. */
export function signalledTurns(clock: Clock, signal: AbortSignal): Turns {
  const turns = turnsOf(clock);
  return {
    due: turns.due,
    next: async () => {
      await turns.next();
      signal.throwIfAborted();
    },
  };
}
