import type { Change, Run } from '../run.ts';
import { cancelRun } from './cancel.ts';
import { cancelledResult, ended, endedLease } from './due.ts';

/**
 * Ends a run whose records an operator removes: a running one is cancelled without its holder, whose token is then
 * refused. `null`: the run has ended.
 */
export function endForRemoval(run: Run, now: number): Change | null {
  if (run.status !== 'running') {
    const { cancelGraceMs: _, ...withoutGrace } = run;
    return cancelRun(withoutGrace, now);
  }
  const taken: Run = {
    ...run,
    lease: null,
    endedLease: endedLease(run, 'cancelled'),
    cancellationRequested: true,
  };
  const asked = run.cancellationRequested
    ? []
    : [{ type: 'run.cancellation_requested', severity: 'warning' } as const];
  return ended(taken, cancelledResult, now, asked);
}
