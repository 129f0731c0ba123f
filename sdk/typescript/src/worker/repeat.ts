import { APIConnectionError, APIResponseError, APIStatusError, ConflictError } from '../errors.ts';
import { pause, type World } from '../world.ts';
import { fullJitter } from './backoff.ts';
import { legible } from './legible.ts';

export interface RepeatOptions {
  readonly world: World;
  /** Ends the pauses and the retries. */
  readonly signal: AbortSignal;
  /** The moment after which a retry is useless; read after each failure. */
  readonly until: () => number;
  readonly failed?: (error: unknown) => void;
}

const BASE_MS = 250;
const CAP_MS = 8_000;

/** Retries an idempotent call until it succeeds, fails for good, or runs out of time. */
export async function untilKnown<T>(call: () => PromiseLike<T>, options: RepeatOptions): Promise<T> {
  const { world, signal, until, failed } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error;
      const askedMs = askedBy(error);
      const random = world.random();
      const delay = fullJitter({ failures, baseMs: BASE_MS, capMs: CAP_MS, random, askedMs });
      if (world.now() + delay >= until()) throw error;
      failed?.(error);
      await pause(world, delay, signal);
      if (signal.aborted) throw error;
    }
  }
}

/** Whether the same call may succeed later. After a lost or unreadable answer the service may have executed it. */
export function mayPass(error: unknown): boolean {
  return legible(() => isPassing(error), false);
}

function isPassing(error: unknown): boolean {
  if (error instanceof APIConnectionError || error instanceof APIResponseError) return true;
  if (!(error instanceof APIStatusError)) return false;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}

/** Whether the service says that the lease is stale or over. */
export function isLost(error: unknown): boolean {
  return (
    error instanceof ConflictError && (error.code === 'lease_stale' || error.code === 'lease_not_active')
  );
}

const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Whether the service itself refused what the request holds, not a proxy in front of it. */
export function isRefusedContent(error: unknown): error is APIStatusError {
  return error instanceof APIStatusError && error.problem !== null && contentStatuses.has(error.status);
}

/** The wait that an answer asks for, in milliseconds. */
export function askedBy(error: unknown): number {
  return legible(() => (error instanceof APIStatusError ? (error.retryAfter ?? 0) * 1_000 : 0), 0);
}
