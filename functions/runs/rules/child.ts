import { ServiceError } from '../../kernel/errors.ts';
import {
  type Change,
  isTerminal,
  type Run,
  type RunWait,
  type StoredValue,
  type TerminalStatus,
} from '../run.ts';
import { type DueOptions, settleRun } from './due.ts';
import type { LeaseProof } from './lease.ts';
import { keptOutcome, repeatedWait, type WaitChange, type WaitRequest, waitInRun } from './wait.ts';

/** How a child ended, as its parent's link keeps it. */
export interface ChildOutcome {
  readonly status: TerminalStatus;
  readonly failureClass: string | null;
  readonly error: string | null;
  readonly completedAt: number;
  readonly result: StoredValue;
}

/** What a parent knows of its child. */
export interface ChildLink {
  readonly parentId: string;
  readonly childId: string;
  /** Whether the parent has been parked on the child. It may have left that wait since. */
  readonly waited: boolean;
  readonly cancelWithParent: boolean;
  /** `null` while the child is active. */
  readonly outcome: ChildOutcome | null;
}

export function outcomeOfRun(run: Run): ChildOutcome | null {
  const { status, failureClass, error, result, completedAt, updatedAt } = run;
  if (!isTerminal(status)) return null;
  return { status, failureClass, error, completedAt: completedAt ?? updatedAt, result };
}

/** Whether this change of a run ends it. */
export function endsIn(before: Run | undefined, run: Run): boolean {
  return before !== undefined && !isTerminal(before.status) && isTerminal(run.status);
}

/** Whether this change begins, or completes, the cancellation of a run with children. */
export function cascadesIn(before: Run | undefined, run: Run): boolean {
  if (before === undefined || (run.children ?? 0) === 0) return false;
  const isRequested = run.cancellationRequested && !before.cancellationRequested;
  return isRequested || (endsIn(before, run) && run.status === 'cancelled');
}

export interface ChildWaitChange extends WaitChange {
  /** The child has ended or does not exist, and nothing changes. */
  readonly isOver?: true;
}

/**
 * A wait for a child. `isOver`: it has ended, or the run has no such child. Then the answer is in the link, which keeps it: nothing is
 * taken, and the wait may be made again. A deadline that ended an earlier wait for the child is answered first, once.
 */
export function waitForChild(
  run: Run | undefined,
  proof: LeaseProof,
  request: WaitRequest,
  isOver: boolean,
  now: number,
): ChildWaitChange {
  const before = repeatedWait(run, proof, request.write ?? null, now);
  if (before !== null) return before;
  const held = run as Run;
  if (isOver && keptOutcome(held, request) === undefined)
    return { run: held, events: [], outcome: null, isOver: true };
  return waitInRun(held, proof, request, now);
}

/**
 * Queues the parent that is parked on the child; `null` where it is not. A deadline of the same time comes first, as with
 * events.
 */
export function wakeParent(parent: Run, childId: string, now: number, options: DueOptions): Change | null {
  if (!isParkedOn(parent, childId) || settleRun(parent, now, options) !== null) return null;
  const { name } = parent.wait;
  const next: Run = { ...parent, status: 'queued', scheduledAt: null, currentStep: null, wait: null };
  const details = { kind: 'run', name, outcome: 'run', runId: childId };
  return { run: next, events: [{ type: 'wait.resumed', details }] };
}

function isParkedOn(parent: Run, childId: string): parent is Run & { readonly wait: RunWait } {
  return parent.status === 'waiting' && parent.wait?.kind === 'run' && parent.wait.runId === childId;
}

/** The parent after the start of a child. Throws `limit_exceeded` at the most children of a run. */
export function withChild(
  parent: Run,
  child: { readonly id: string; readonly handlerId: string; readonly workerId: string },
  childrenMax: number,
): Change {
  const children = parent.children ?? 0;
  if (children >= childrenMax)
    throw new ServiceError('limit_exceeded', `The run has started ${childrenMax} child runs`, {
      limit: childrenMax,
    });
  const { id: runId, handlerId, workerId } = child;
  const details = { runId, handlerId };
  return {
    run: { ...parent, children: children + 1 },
    events: [{ type: 'run.child_started', details, workerId }],
  };
}
