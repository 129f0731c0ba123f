import type { Change, Run } from '../run.ts';
import { activeLease, type LeaseProof } from './lease.ts';

/**
 * From now on a cancellation has no effect: the holder is about to write what others see, and the run says how that went. A job
 * that says `cancelled` has not done its work. `null`: it is decided already, or a cancellation was requested before.
 */
export function decideRun(run: Run | undefined, proof: LeaseProof, now: number): Change | null {
  activeLease(run, proof, now);
  const held = run as Run;
  return held.decided === true || held.cancellationRequested
    ? null
    : { run: { ...held, decided: true }, events: [] };
}
