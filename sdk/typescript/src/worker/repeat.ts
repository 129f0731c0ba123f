import { APIConnectionError, APIResponseError, APIStatusError } from '../errors.ts';
import { pause, type World } from '../world.ts';
import { fullJitter } from './backoff.ts';

/**
 * Which failures of a call may be repeated. `any`: the call does the same however often it is made. `refused`: only those that
 * say that nothing was done and that it may be done later.
 */
export type Repeatable = 'any' | 'refused';

export interface RepeatOptions {
  readonly world: World;
  readonly repeatable: Repeatable;
  /** Ends a pause and what follows. */
  readonly signal: AbortSignal;
  /** The moment from which on it is of no use any more; asked anew after each failure. */
  readonly until: () => number;
  readonly failed?: (error: unknown) => void;
}

const BASE_MS = 250;
const CAP_MS = 8_000;

/** Makes a call until its answer is known: a failure that may pass is not the end of it while there is time. */
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

/** Whether a failure may pass when the same call is made again. */
export function mayPass(error: unknown, repeatable: Repeatable): boolean {
  const isAny = repeatable === 'any';
  if (error instanceof APIConnectionError || error instanceof APIResponseError) return isAny;
  if (!(error instanceof APIStatusError)) return false;
  const { status, retryable } = error;
  if (isAny) return status >= 500 || status === 429 || status === 408;
  return (status === 429 || status === 503) && retryable === true;
}

/** What an answer asks to wait before the next call. */
export function askedBy(error: unknown): number {
  return error instanceof APIStatusError ? (error.retryAfter ?? 0) * 1_000 : 0;
}
