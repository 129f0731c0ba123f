import type { OperationSpec } from './operation.ts';

/** The retry decision: whether and when to send a failed call again. All SDKs share it (`sdk/retry-table.json`). */

/** The delay doubles up to the cap. Random jitter takes off up to a quarter, so that callers do not retry together. */
const BASE_MS = 500;
const CAP_MS = 8_000;
const JITTER = 0.25;
/** If the service asks for a longer wait than this, the client throws instead. */
export const RETRY_AFTER_MS_MAX = 60_000;
export const MAX_RETRIES = 2;

export type Failure =
  | { readonly kind: 'connection' | 'timeout' | 'abort' | 'response' }
  | {
      readonly kind: 'status';
      readonly status: number;
      /** From the problem document; `null` without one. */
      readonly retryable: boolean | null;
      readonly retryAfterMs: number | null;
    };

export interface RetryQuestion {
  readonly retry: OperationSpec['retry'];
  /** Whether the caller gave an idempotency key in the place of the operation. */
  readonly keyGiven: boolean;
  /** Whether the client can send the body again. */
  readonly replayable: boolean;
  readonly failure: Failure;
  /** The number of failures so far, this one included. */
  readonly failures: number;
  readonly maxRetries: number;
  /** The rest of the call's time. */
  readonly remainingMs: number;
  /** From 0 to 1, drawn for each decision. */
  readonly random: number;
}

/** The delay before the next attempt; `null` if the call must not be retried. */
export function retryDelay(question: RetryQuestion): number | null {
  const { retry, keyGiven, replayable, failure, failures, maxRetries, remainingMs, random } = question;
  if (retry === 'never' || (retry === 'with-key' && !keyGiven) || !replayable) return null;
  if (failures > maxRetries || !mayPass(failure)) return null;
  const asked = failure.kind === 'status' ? (failure.retryAfterMs ?? 0) : 0;
  if (asked > RETRY_AFTER_MS_MAX) return null;
  const backoff = Math.min(CAP_MS, BASE_MS * 2 ** (failures - 1)) * (1 - JITTER * random);
  const delay = Math.max(backoff, asked);
  // Throw the failure now: a wait beyond the timeout would hide it behind a timeout error.
  return delay < remainingMs ? delay : null;
}

function mayPass(failure: Failure): boolean {
  if (failure.kind !== 'status') return failure.kind === 'connection';
  const { status, retryable, retryAfterMs } = failure;
  // Never retry a conflict: the stored state decides, even if the answer calls it retryable.
  if (status === 409) return false;
  if (retryable !== null) return retryable;
  // Only a proxy answers so: it did not reach the service, or got no whole answer.
  if (status === 502 || status === 504) return true;
  return (status === 429 || status === 503) && retryAfterMs !== null;
}

/** The retry budget of one server. Retries end while most attempts fail, so that clients do not keep it overloaded. */
export const TOKENS_MAX = 500;
const RETRY_TOKENS = 5;
const ANSWER_TOKENS = 1;

/**
 * As `retryDelay`, within the budget. `question` is `null` after a success. Returns the delay, and the tokens that the budget
 * then holds.
 */
export function budgetedRetry(
  question: RetryQuestion | null,
  tokens: number,
): readonly [delay: number | null, tokens: number] {
  const delay = question && retryDelay(question);
  if (delay !== null) return tokens < RETRY_TOKENS ? [null, tokens] : [delay, tokens - RETRY_TOKENS];
  // Only an answer shows that the server keeps up, also one to an operation that is never retried.
  const isAnswer = question === null || (question.failure.kind === 'status' && !mayPass(question.failure));
  return [null, isAnswer ? Math.min(TOKENS_MAX, tokens + ANSWER_TOKENS) : tokens];
}

/** Two days: the longest that the budget of a day of a provider can last. */
const RETRY_AFTER_SECONDS_MAX = 172_800;

/** The longer of `Retry-After` and the time in the problem document, in seconds, at most two days; `null` without both. */
export function retryAfterOf(header: string | null, body: unknown, now: number): number | null {
  const inBody = typeof body === 'number' && body >= 0 ? body : null;
  const inHeader = headerSeconds(header ?? '', now);
  if (inBody === null && inHeader === null) return null;
  // No refusal of the service lasts longer, and a timer with a larger number fires at once.
  return Math.min(Math.max(inBody ?? 0, inHeader ?? 0), RETRY_AFTER_SECONDS_MAX);
}

const seconds = /^[ \t]*(\d+(?:\.\d+)?)[ \t]*$/;
const date = /^[ \t]*[A-Z][a-z]{2}, (\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)[ \t]*$/;

/** RFC 9110 section 10.2.3: seconds, or a date in the current form of section 5.6.7. */
function headerSeconds(text: string, now: number): number | null {
  const number = seconds.exec(text)?.[1];
  if (number !== undefined) return Number(number);
  const written = date.exec(text)?.[1];
  if (written === undefined) return null;
  const moment = new Date(written);
  // `Date` reads 31 February as 3 March.
  if (Number.isNaN(moment.getTime()) || !moment.toUTCString().endsWith(` ${written}`)) return null;
  return Math.max(0, (moment.getTime() - now) / 1000);
}
