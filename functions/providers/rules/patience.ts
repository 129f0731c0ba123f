import { type FailureClass, isPassing, ProviderFailure } from '../failure.ts';
import type { RunOutcome } from './outcome.ts';

/** How long a job waits for a provider that fails. Pure: moments are in milliseconds since 1970. */

const FIRST_WAIT_MS = 2_000;
const WAIT_MS_MAX = 60_000;

/** Failures without an answer between them. */
export type FailureRow = {
  /** The time of the first failure. */
  readonly since: number;
  readonly failures: number;
};

export interface FailedTry {
  readonly now: number;
  /** The time from the first failure of a row to the last try. */
  readonly patienceMs: number;
  /** Random from 0 to 1, new for each wait. */
  readonly chance: number;
  /** The wait that the provider or its open circuit demands; `null` for none. */
  readonly retryAfterMs: number | null;
}

/** The row with one more failure, and the time of the next try; `null`: no further try. */
export function nextTry(
  before: FailureRow | null,
  { now, patienceMs, chance, retryAfterMs }: FailedTry,
): { readonly row: FailureRow; readonly at: number } | null {
  // A clock that was set back restarts the row.
  const since = Math.min(before?.since ?? now, now);
  const end = since + patienceMs;
  if (now >= end) return null;
  const failures = (before?.failures ?? 0) + 1;
  const longest = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (failures - 1));
  // Half of the wait is random, so that jobs that failed together do not retry together.
  const own = Math.round(longest * (0.5 + chance / 2));
  return { row: { since, failures }, at: Math.min(now + Math.max(own, retryAfterMs ?? 0), end) };
}

/** Whether a job waits, with an end, for the provider to be well again. Limits of the service are no failures of the provider. */
export function isWaitedFor(failure: { readonly failureClass: FailureClass; readonly isOfGuard: boolean }) {
  return isPassing(failure) && !failure.isOfGuard;
}

/**
 * Whether a job waits through the outcome of a run. A timeout of the request's own time is final: the provider has no answer in that
 * time.
 */
export function isOutcomeWaitedFor({ status, failureClass, providerStatus }: RunOutcome): boolean {
  if (providerStatus === 'http_408') return true;
  return status === 'Failed' && failureClass !== null && passing.has(failureClass);
}

const passing: ReadonlySet<RunOutcome['failureClass']> = new Set([
  'network',
  'provider_unavailable',
  'rate_limit',
]);

/** The outcome as the failure that it was; `null` for one that a run does not wait for. `isWaiting`: the run has waited before. */
export function failureWaitedFor(outcome: RunOutcome, isWaiting: boolean): ProviderFailure | null {
  const { failureClass, providerStatus, message, retryAfterMs = null, reached, status } = outcome;
  // A limit of the service rejects a new run; one that was admitted and waits does not lose its place to it.
  const isOfGuard = reached === 'guard' && status === 'Rejected';
  const isWaited = isOfGuard ? isWaiting && failureClass === 'rate_limit' : isOutcomeWaitedFor(outcome);
  if (!isWaited || failureClass === null || failureClass === 'tool' || failureClass === 'trust') return null;
  const more = { isRetryable: true, retryAfterMs, isOfGuard };
  return new ProviderFailure(failureClass, providerStatus, message ?? 'The run did not succeed.', more);
}
