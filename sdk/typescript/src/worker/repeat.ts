import { APIConnectionError, APIResponseError, APIStatusError } from '../errors.ts';
import { pause, type World } from '../world.ts';
import { fullJitter } from './backoff.ts';

/**
 * Which failures allow a retry. `any`: the call is idempotent. `refused`: only failures where the service did nothing and
 * says that a later call may succeed.
 */
export type Repeatable = 'any' | 'refused';

export interface RepeatOptions {
  readonly world: World;
  readonly repeatable: Repeatable;
  /** Ends the pauses and the retries. */
  readonly signal: AbortSignal;
  /** The moment after which a retry is useless; read after each failure. */
  readonly until: () => number;
  readonly failed?: (error: unknown) => void;
}

const BASE_MS = 250;
const CAP_MS = 8_000;

/** Retries a call until it succeeds, fails for good, or runs out of time. */
export async function untilKnown<T>(call: () => PromiseLike<T>, options: RepeatOptions): Promise<T> {
  const { world, repeatable, signal, until, failed } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !mayPass(error, repeatable)) throw error;
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

/** Whether the same call may succeed later. */
export function mayPass(error: unknown, repeatable: Repeatable): boolean {
  const isAny = repeatable === 'any';
  if (error instanceof APIConnectionError || error instanceof APIResponseError) return isAny;
  if (!(error instanceof APIStatusError)) return false;
  const { status, retryable } = error;
  if (isAny) return status >= 500 || status === 429 || status === 408;
  return (status === 429 || status === 503) && retryable === true;
}

/** The wait that an answer asks for, in milliseconds. */
export function askedBy(error: unknown): number {
  return error instanceof APIStatusError ? (error.retryAfter ?? 0) * 1_000 : 0;
}
