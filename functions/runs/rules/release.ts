import { type Change, isBeingCancelled, type Run, type RunTraceDraft } from '../run.ts';
import { cancelledResult, ended, endedLease, givenBack, hasGrace } from './due.ts';
import { activeLease, isProofOf, type LeaseProof, mayHold } from './lease.ts';

/**
 * The holder gives the run back without a result, as a worker does that stops: the run is queued again. Repeating it with the
 * same proof changes nothing (`null`).
 */
export function releaseRun(run: Run | undefined, proof: LeaseProof, now: number): Change | null {
  if (run?.lease === null && run.endedLease?.how === 'released') {
    if (isProofOf(run.endedLease, proof) && mayHold(run, proof)) return null;
  }
  const { workerId } = activeLease(run, proof, now);
  const held = run as Run;
  const returned: RunTraceDraft = {
    type: 'lease.returned',
    message: 'The worker gave the run back',
    workerId,
  };
  const released: Run = {
    ...held,
    ...givenBack(held),
    lease: null,
    endedLease: endedLease(held, 'released'),
    currentStep: null,
  };
  if (isBeingCancelled(held) && !hasGrace(held, now))
    return ended(released, cancelledResult, now, [returned]);
  return { run: { ...released, status: 'queued' }, events: [returned] };
}
