import {
  type Change,
  isTerminal,
  type Run,
  type RunWait,
  type StoredValue,
  type TerminalStatus,
} from '../run.ts';
import { type DueOptions, settleRun } from './due.ts';

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
