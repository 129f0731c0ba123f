import type { OperationSpec } from './operation.ts';

/** When a failed call is sent again, and after how long: one decision, the same in every language (`sdk/retry-table.json`). */

/** The first delay doubles up to the cap; up to a quarter of it is taken off at random, so that callers part. */
export const RETRY = {
  baseMs: 500,
  capMs: 8_000,
  jitter: 0.25,
  /** Who asks for a longer wait than this is not waited for: the caller is told instead. */
  retryAfterCapMs: 60_000,
  maxRetries: 2,
} as const;

export type Failure =
  | { readonly kind: 'connection' | 'timeout' | 'abort' | 'response' }
  | {
      readonly kind: 'status';
      readonly status: number;
      /** What the problem document says; `null` without one. */
      readonly retryable: boolean | null;
      readonly retryAfterMs: number | null;
    };

export interface RetryQuestion {
  readonly retry: OperationSpec['retry'];
  /** Whether the caller gave an idempotency key in the place where the operation reads it. */
  readonly keyGiven: boolean;
  /** Whether the body can be sent a second time. */
  readonly replayable: boolean;
  readonly failure: Failure;
  /** How often the call has failed, this time included. */
  readonly failures: number;
  readonly maxRetries: number;
  /** What is left of the call's time. */
  readonly remainingMs: number;
  /** From 0 to 1, drawn anew for each question. */
  readonly random: number;
}

/** How long to wait before the call is sent again; `null` where it is not. */
export function retryDelay(question: RetryQuestion): number | null {
  const { retry, keyGiven, replayable, failure, failures, maxRetries, remainingMs, random } = question;
  if (retry === 'never' || (retry === 'with-key' && !keyGiven) || !replayable) return null;
  if (failures > maxRetries || !mayPass(failure)) return null;
  const asked = failure.kind === 'status' ? (failure.retryAfterMs ?? 0) : 0;
  if (asked > RETRY.retryAfterCapMs) return null;
  const backoff = Math.min(RETRY.capMs, RETRY.baseMs * 2 ** (failures - 1)) * (1 - RETRY.jitter * random);
  const delay = Math.max(backoff, asked);
  // To wait for a time that is over would only hide what went wrong.
  return delay < remainingMs ? delay : null;
}

function mayPass(failure: Failure): boolean {
  if (failure.kind !== 'status') return failure.kind === 'connection';
  const { status, retryable, retryAfterMs } = failure;
  // A conflict is an answer about what is there, whatever it says of itself.
  if (status === 409) return false;
  return retryable ?? ((status === 429 || status === 503) && retryAfterMs !== null);
}

/** In seconds: the longer of what `Retry-After` and the problem document ask for; `null` where neither asks for anything. */
export function retryAfterOf(header: string | null, body: unknown, now: number): number | null {
  const inBody = typeof body === 'number' && body >= 0 ? body : null;
  const inHeader = headerSeconds(header ?? '', now);
  if (inBody === null && inHeader === null) return null;
  // As many digits as one likes are infinity, which JSON would write as null.
  return Math.min(Math.max(inBody ?? 0, inHeader ?? 0), Number.MAX_SAFE_INTEGER);
}

const seconds = /^[ \t]*(\d+(?:\.\d+)?)[ \t]*$/;
const date = /^[ \t]*[A-Z][a-z]{2}, (\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)[ \t]*$/;

/** RFC 9110 section 10.2.3: seconds, or a date of its section 5.6.7 that is not of the obsolete forms. */
function headerSeconds(text: string, now: number): number | null {
  const number = seconds.exec(text)?.[1];
  if (number !== undefined) return Number(number);
  const said = date.exec(text)?.[1];
  if (said === undefined) return null;
  const moment = new Date(said);
  // A platform makes the 3rd of March out of the 31st of February.
  if (Number.isNaN(moment.getTime()) || !moment.toUTCString().endsWith(` ${said}`)) return null;
  return Math.max(0, (moment.getTime() - now) / 1000);
}
