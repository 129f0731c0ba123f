import type { Change, Run } from '../run.ts';
import { activeLease, type LeaseProof } from './lease.ts';

/**
 * Makes a later cancellation ineffective: the holder is about to write data that others see, and the run will report
 * the outcome. A job with the status `cancelled` has written none. `null`: it is decided already, or a cancellation was
 * requested before.
 */
export function decideRun(run: Run | undefined, proof: LeaseProof, now: number): Change | null {
  activeLease(run, proof, now);
  const held = run as Run;
  return held.decided === true || held.cancellationRequested
    ? null
    : { run: { ...held, decided: true }, events: [] };
}
