import { type Backoff, backoffMs } from './backoff.ts';
import { failureOf, OutboxCallError } from './client.ts';
import { type DispatcherWorld, pause } from './world.ts';

/** The delays between the tries of a failed call. */
const CALL_BACKOFF: Backoff = { baseMs: 500, capMs: 15_000 };

/**
 * Makes a call that ends at its timeout or when `signal` is aborted, even if the client ignores the signal: a client
 * that hangs must not block the dispatcher.
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
  // The promise that loses the race has no other handler: without this one its rejection would be unhandled.
  over.catch(() => {});
  try {
    return await Promise.race([call(given), over]);
  } finally {
    ended.abort();
  }
}

export interface RepeatOptions {
  readonly world: DispatcherWorld;
  /** No try starts after this time: its effect would come too late. */
  readonly until: number;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Repeats a call while its failures are transient. The result says whether a try succeeded. */
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
      // Do not start a try that would come too late.
      if (world.now() + delayMs >= until) return 'failed';
      await pause(world, delayMs, signal);
    }
  }
}

/** The delay after `failures` failures in a row; at least as long as the service asks for. */
export function retryDelay(world: DispatcherWorld, failures: number, error: unknown): number {
  const asked = error instanceof OutboxCallError ? error.retryAfterMs : null;
  return backoffMs(CALL_BACKOFF, failures, () => world.random(), asked);
}
