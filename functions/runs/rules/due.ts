import {
  type Change,
  type EndedLease,
  isBeingCancelled,
  type Run,
  type RunTraceDraft,
  type WaitIdentity,
  type WaitOutcome,
} from '../run.ts';
import { withoutAnswers } from './answered.ts';
import { momentIn } from './moment.ts';

/**
 * Applies all changes that are due. A due schedule, retry, timer or deadline queues the run. An expired lease requeues
 * it, or ends it after a requested cancellation or too many expirations. Every rule settles the run first, so that its
 * decision does not depend on when a process read the run. `null`: nothing is due.
 */
export function settleRun(run: Run, now: number, options: DueOptions): Change | null {
  if (graceIsOver(run, now)) return ended(run, cancelledResult, now);
  if (run.status === 'waiting') return run.wait === null ? settleSchedule(run, now) : settleWait(run, now);
  if (run.status !== 'running') return null;
  return leaseIsOver(run, now) ? loseLease(run, now, options) : null;
}

export interface DueOptions {
  readonly leaseExpirationsMax: number;
}

/** A lease has ended at the exact time of its expiry. */
export function leaseIsOver(run: Run, now: number): boolean {
  return run.lease === null || run.lease.expiresAt <= now;
}

function settleSchedule(run: Run, now: number): Change | null {
  if ((run.scheduledAt ?? 0) > now) return null;
  return { run: { ...run, status: 'queued' }, events: [] };
}

function settleWait(run: Run, now: number): Change | null {
  const { wait } = run;
  if (wait === null || wait.dueAt === null || wait.dueAt > now) return null;
  const timed = wait.kind === 'timer';
  const outcome: WaitOutcome = {
    ...waitIdentity(wait),
    outcome: timed ? 'timer' : 'timed_out',
    event: null,
    timer: timed
      ? {
          id: wait.timerId ?? '',
          name: wait.name,
          fireAt: wait.dueAt,
          createdAt: wait.registeredAt,
          payload: wait.payload,
        }
      : null,
  };
  return resumed(run, outcome, timed ? 'wait.resumed' : 'wait.timed_out');
}

/** The identity of a wait, without its other members. */
export function waitIdentity({ kind, name, names, runId }: WaitIdentity): WaitIdentity {
  return { kind, name, ...(names === undefined ? {} : { names }), ...(runId === undefined ? {} : { runId }) };
}

/** Ends the wait and queues the run. The outcome is kept until the handler asks for the same wait again. */
export function resumed(run: Run, outcome: WaitOutcome, type: 'wait.resumed' | 'wait.timed_out'): Change {
  const next: Run = {
    ...run,
    status: 'queued',
    scheduledAt: null,
    currentStep: null,
    wait: null,
    outcomes: [...run.outcomes, outcome],
  };
  const details = { kind: outcome.kind, name: outcome.name, outcome: outcome.outcome };
  return { run: next, events: [{ type, details }] };
}

/** The holder is lost: requeues or ends the run. */
export function loseLease(run: Run, now: number, { leaseExpirationsMax }: DueOptions): Change {
  const expired: RunTraceDraft = {
    type: 'lease.expired',
    severity: 'warning',
    message: 'The lease ran out without a word from its holder',
    workerId: run.lease?.workerId ?? null,
  };
  const lost: Run = {
    ...run,
    lease: null,
    endedLease: endedLease(run, 'expired'),
    ...givenBack(run),
    leaseExpirations: run.leaseExpirations + 1,
    currentStep: null,
  };
  const isRefused = lost.leaseExpirations >= leaseExpirationsMax;
  if (isBeingCancelled(run) && (isRefused || !hasGrace(run, now)))
    return ended(lost, cancelledResult, now, [expired]);
  if (isRefused) {
    const error = `The leases of ${lost.leaseExpirations} attempts ran out`;
    return ended(lost, { status: 'failed', failureClass: 'lease_expired', error }, now, [expired]);
  }
  const requeued: RunTraceDraft = {
    type: 'run.status',
    severity: 'warning',
    message: 'Recovered: the run may be executed again',
  };
  return { run: { ...lost, status: 'queued' }, events: [expired, requeued] };
}

/** Whether the time to undo after a cooperative cancellation has passed. Such a run is not terminal. */
function graceIsOver({ status, cancelBy }: Run, now: number): boolean {
  return (status === 'queued' || status === 'waiting') && cancelBy !== undefined && cancelBy <= now;
}

/** Whether the handler may still undo its work after a cooperative cancellation. */
export function hasGrace({ cancelBy }: Run, now: number): boolean {
  return cancelBy !== undefined && now < cancelBy;
}

/** The run made progress, so earlier expired leases no longer suggest that it kills its workers. */
export function progressed(run: Run): Run {
  return run.leaseExpirations === 0 ? run : { ...run, leaseExpirations: 0 };
}

/** Restores the outcome that the last holder took but may not have recorded. */
export function givenBack({ taken, outcomes }: Run): Pick<Run, 'taken' | 'outcomes'> {
  return taken === null ? { taken, outcomes } : { taken: null, outcomes: [taken, ...outcomes] };
}

export function endedLease(run: Run, how: EndedLease['how']) {
  return run.lease === null
    ? run.endedLease
    : { workerId: run.lease.workerId, tokenHash: run.lease.tokenHash, how };
}

export interface Ending {
  readonly status: 'succeeded' | 'failed' | 'cancelled' | 'rejected' | 'timed_out';
  readonly failureClass: string | null;
  readonly error: string | null;
}

export const cancelledResult: Ending = {
  status: 'cancelled',
  failureClass: 'cancelled',
  error: 'The run was cancelled',
};

/** Ends the run and removes its lease and waits. Its progress stays readable. */
export function ended(run: Run, ending: Ending, now: number, before: readonly RunTraceDraft[] = []): Change {
  const { status, failureClass, error } = ending;
  const succeeded = status === 'succeeded';
  const completedAt = momentIn(run, now);
  const next: Run = {
    ...withoutAnswers(run),
    status,
    lease: null,
    wait: null,
    outcomes: [],
    taken: null,
    counted: false,
    startedAt: run.startedAt ?? completedAt,
    completedAt,
    cancellationRequested: run.cancellationRequested || status === 'cancelled',
    progress: succeeded ? 1 : run.progress,
    currentStep: null,
    failureClass: succeeded ? null : failureClass,
    error: succeeded ? null : error,
  };
  const completion: RunTraceDraft = {
    type: status === 'failed' ? 'run.failed' : status === 'rejected' ? 'run.rejected' : 'run.completed',
    severity: succeeded ? 'info' : 'warning',
    message: succeeded ? null : error,
    details: succeeded || failureClass === null ? null : { failureClass },
  };
  return { run: next, events: [...before, completion] };
}
