import { type Change, isBeingCancelled, isTerminal, type Run, type RunTraceDraft } from '../run.ts';
import { cancelledResult, ended, endedLease, givenBack, hasGrace } from './due.ts';

/**
 * The run of a copy, as it continues in another store. A copy holds no leases: a leased run is queued again with its
 * number of attempts, and the token of its old lease is refused. No counter counts the run yet.
 */
export function restoredRun(run: Run, now: number): Change {
  if (isTerminal(run.status)) return { run, events: [] };
  // A copy holds no slots, so a worker that finds the run asks for its key again.
  const { sharesCounted: _, shareShard: __, waitsForKey: ___, ...uncounted } = run;
  const base: Run = { ...uncounted, counted: false };
  // The queue of this deployment has no message for the run, so its time in the queue starts here.
  if (run.status === 'queued') return { run: { ...base, queuedAt: now }, events: [] };
  if (run.status !== 'running') return { run: base, events: [] };
  const returned: RunTraceDraft = {
    type: 'lease.returned',
    message: 'The run was restored from a copy, which holds no leases',
    workerId: run.lease?.workerId ?? null,
  };
  const released: Run = {
    ...base,
    ...givenBack(run),
    lease: null,
    endedLease: endedLease(run, 'released'),
    currentStep: null,
  };
  if (isBeingCancelled(run) && !hasGrace(run, now)) return ended(released, cancelledResult, now, [returned]);
  return { run: { ...released, status: 'queued', queuedAt: null }, events: [returned] };
}
