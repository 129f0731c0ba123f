import type { JsonObject } from '../../kernel/canonical-json.ts';
import { type Change, isBeingCancelled, type Run, type StoredValue } from '../run.ts';
import { cancelledResult, type Ending, ended, endedLease, givenBack } from './due.ts';
import { activeLease, isProofOf, type LeaseProof, mayHold } from './lease.ts';

/** The outcome of an attempt, as its worker or handler reports it. */
export interface Completion extends Ending {
  /** Absent: an earlier reported result stays. */
  readonly result?: StoredValue;
  readonly statusDetails?: JsonObject;
  /** `false`: no retry follows, for every failure class. */
  readonly retryable?: boolean;
}

/** Failure classes that a retry cannot cure. */
const notRetried: ReadonlySet<string> = new Set(['validation', 'cancelled']);

/**
 * Ends the attempt: the run ends or waits for its next attempt. Repeating a completion with the same proof changes
 * nothing (`null`). A run with a requested cancellation is cancelled, unless it timed out.
 */
export function completeRun(
  run: Run | undefined,
  proof: LeaseProof,
  completion: Completion,
  now: number,
): Change | null {
  if (run?.lease === null && run.endedLease?.how === 'completed') {
    if (isProofOf(run.endedLease, proof) && mayHold(run, proof)) return null;
  }
  activeLease(run, proof, now);
  return closeAttempt(run as Run, completion, now);
}

function closeAttempt(run: Run, completion: Completion, now: number): Change {
  const { result, statusDetails } = completion;
  const failing = completion.status === 'failed' || completion.status === 'timed_out';
  const released: Run = {
    ...run,
    lease: null,
    endedLease: endedLease(run, 'completed'),
    failures: run.failures + (failing ? 1 : 0),
    result: result ?? run.result,
    statusDetails: statusDetails ?? run.statusDetails,
  };
  if (isBeingCancelled(run) && completion.status !== 'timed_out') {
    return ended(released, cancelledResult, now);
  }
  return mayRetry(released, completion)
    ? retryLater(released, completion, now)
    : ended(released, completion, now);
}

/** Whether a failure of this attempt ends the run, of every class. */
export function isLastAttempt({ failures, retryPolicy }: Pick<Run, 'failures' | 'retryPolicy'>): boolean {
  return failures + 1 >= retryPolicy.maxAttempts;
}

function mayRetry(run: Run, { status, failureClass, retryable }: Completion): boolean {
  if ((status !== 'failed' && status !== 'timed_out') || isBeingCancelled(run)) return false;
  if (retryable === false) return false;
  return run.failures < run.retryPolicy.maxAttempts && !notRetried.has(failureClass ?? '');
}

function retryLater(run: Run, { failureClass, error }: Ending, now: number): Change {
  const delaySeconds = retryDelaySeconds(run);
  const next: Run = {
    ...run,
    ...givenBack(run),
    status: 'waiting',
    scheduledAt: now + Math.ceil(delaySeconds * 1_000),
    currentStep: null,
    failureClass,
    error,
  };
  const details = { delaySeconds, failureClass, error };
  return { run: next, events: [{ type: 'retry.scheduled', severity: 'warning', details }] };
}

/**
 * Delay of a retry: the initial delay, multiplied for each further retry, up to the longest.
 * @testonly
 */
export function retryDelaySeconds({ retryPolicy, failures }: Pick<Run, 'retryPolicy' | 'failures'>): number {
  const { initialDelaySeconds, maxDelaySeconds, backoffMultiplier } = retryPolicy;
  const longest = Math.max(initialDelaySeconds, maxDelaySeconds);
  // Zero stays zero, also times infinity.
  if (initialDelaySeconds === 0) return 0;
  const grown = initialDelaySeconds * backoffMultiplier ** (failures - 1);
  // If the power overflows, use the longest delay.
  return Number.isFinite(grown) ? Math.min(longest, grown) : longest;
}
