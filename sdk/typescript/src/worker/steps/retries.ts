import { type Duration, durationMs } from './durations.ts';

/** When a failed step is tried again. */
export interface StepRetry {
  /** Tries in all; 3 if absent. */
  readonly attempts?: number;
  /** The delay after the first try; 1 s if absent. */
  readonly delay?: Duration;
  /** The delay grows by this factor with each try; 2 if absent. */
  readonly factor?: number;
  /** 1 hour if absent. */
  readonly maxDelay?: Duration;
}

export interface RetryRule {
  readonly attempts: number;
  readonly delayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
}

const ATTEMPTS_MAX = 1_000;
/** A shorter delay passes under the lease; a longer one parks the run. */
export const DURABLE_MS = 5_000;

export function retryRule({
  attempts = 3,
  delay = 1,
  factor = 2,
  maxDelay = 3_600,
}: StepRetry = {}): RetryRule {
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > ATTEMPTS_MAX)
    throw new TypeError(`retry.attempts must be a whole number from 1 to ${ATTEMPTS_MAX}.`);
  if (!(factor >= 1 && factor <= 100)) throw new TypeError('retry.factor must be from 1 to 100.');
  return {
    attempts,
    factor,
    delayMs: durationMs(delay, 'retry.delay'),
    maxDelayMs: durationMs(maxDelay, 'retry.maxDelay'),
  };
}

/** The delay after the failure of try number `tries`; `null` after the last one. */
export function delayAfter(
  { attempts, delayMs, factor, maxDelayMs }: RetryRule,
  tries: number,
): number | null {
  return tries >= attempts ? null : Math.round(Math.min(delayMs * factor ** (tries - 1), maxDelayMs));
}
