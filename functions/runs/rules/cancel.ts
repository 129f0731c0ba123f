import { ServiceError } from '../../kernel/errors.ts';
import { type Change, isTerminal, type Run } from '../run.ts';
import { cancelledResult, type Ending, ended } from './due.ts';

const asked = { type: 'run.cancellation_requested', severity: 'warning' } as const;

const tooLate: Ending = {
  status: 'failed',
  failureClass: 'cancelled',
  error: 'The run was cancelled after its work had begun: others may see it, in part or whole',
};

/**
 * Cancels a queued or waiting run at once, unless its cancellation is cooperative and it was leased before: such a run is
 * queued, so that its handler can undo its work. A running one is marked: its holder sees the mark in its next answer, and
 * the run is cancelled when the holder completes it or its lease runs out. `null`: nothing to change, as the run has ended or its
 * job is decided and under way. A decided one that waits for another attempt ends as failed: others may have seen its work.
 */
export function cancelRun(run: Run | undefined, now: number): Change | null {
  if (run === undefined) throw new ServiceError('not_found', 'There is no such run');
  if (isTerminal(run.status)) return null;
  if (run.decided === true) return run.status === 'running' ? null : ended(run, tooLate, now, [asked]);
  if (run.status === 'running') {
    return run.cancellationRequested ? null : { run: requested(run, now), events: [asked] };
  }
  if (run.cancelGraceMs !== undefined && run.attempt > 0) {
    return run.cancellationRequested ? null : { run: queuedToUndo(requested(run, now)), events: [asked] };
  }
  return ended({ ...run, cancellationRequested: true }, cancelledResult, now, [asked]);
}

function requested(run: Run, now: number): Run {
  const { cancelGraceMs } = run;
  const marked = { ...run, cancellationRequested: true };
  return cancelGraceMs === undefined ? marked : { ...marked, cancelBy: now + cancelGraceMs };
}

/** Its wait, its retry or its place in the queue ends, and a worker leases it to undo its work. */
function queuedToUndo(run: Run): Run {
  return { ...run, status: 'queued', scheduledAt: null, wait: null, currentStep: null };
}
