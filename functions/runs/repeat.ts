import { delay, type World } from '../kernel/world.ts';
import { isPassing } from './outcome.ts';

/** Delay before the first repeat of a call that the store did not answer; it doubles with each repeat. */
const FIRST_DELAY_MS = 100;

export interface RepeatBounds {
  /** No repeat starts at this time or later; read after each failure, as renewals move it. */
  readonly until: () => number;
  /** Whether the result of the call no longer counts. */
  readonly isOver: () => boolean;
}

/** Repeats a call while its lease lasts and the store fails for a moment. The call must be safe to repeat. */
export async function repeatWhileLeased<T>(
  { clock, timers }: Pick<World, 'clock' | 'timers'>,
  { until, isOver }: RepeatBounds,
  call: () => Promise<T>,
): Promise<T> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs *= 2) {
    try {
      return await call();
    } catch (error) {
      if (!isPassing(error) || isOver() || clock.now() + delayMs >= until()) throw error;
    }
    await delay(timers, delayMs);
  }
}
