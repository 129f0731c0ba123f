import { type Backoff, backoffMs } from './backoff.ts';
import { failureOf, OutboxCallError } from './client.ts';
import { type DispatcherWorld, pause } from './world.ts';

/** Between the tries of a call that failed. */
export const CALL_BACKOFF: Backoff = { baseMs: 500, capMs: 15_000 };

/**
 * Makes a call that ends when its time is over or `signal` is aborted, whether or not the client heeds the signal that it
 * is given: one client that hangs must not hang the dispatcher.
 */
export async function bounded<T>(
  world: DispatcherWorld,
  timeoutMs: number,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const given = AbortSignal.any([signal, ended.signal]);
  const over = pause(world, timeoutMs, given).then((): never => {
    throw new OutboxCallError('transient', 'the call did not end in time');
  });
  // Whichever comes second has nobody who waits for it.
  over.catch(() => {});
  try {
    return await Promise.race([call(given), over]);
  } finally {
    ended.abort();
  }
}

export interface RepeatOptions {
  readonly world: DispatcherWorld;
  /** When repeating ends: nothing that the call could do would hold after it. */
  readonly until: number;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Repeats a call while it fails and might still succeed. Tells whether it has succeeded. */
export async function repeat(
  { world, until, signal, onError }: RepeatOptions,
  call: (signal: AbortSignal) => Promise<void>,
): Promise<'done' | 'lost' | 'failed'> {
  for (let tries = 1; ; tries += 1) {
    const left = until - world.now();
    if (left <= 0 || signal.aborted) return 'failed';
    try {
      await bounded(world, left, signal, call);
      return 'done';
    } catch (error) {
      onError(error);
      const failure = failureOf(error);
      if (failure !== 'transient') return failure === 'lost' ? 'lost' : 'failed';
      const delayMs = retryDelay(world, tries, error);
      // Not begun where it would come too late.
      if (world.now() + delayMs >= until) return 'failed';
      await pause(world, delayMs, signal);
    }
  }
}

/** How long to wait after a call failed for the `failures`th time in a row; as long as the service asks for at least. */
export function retryDelay(world: DispatcherWorld, failures: number, error: unknown): number {
  const asked = error instanceof OutboxCallError ? error.retryAfterMs : null;
  return backoffMs(CALL_BACKOFF, failures, () => world.random(), asked);
}
