import type { Run } from '../run.ts';
import type { LeaseProof } from './lease.ts';
import { keptOutcome, repeatedWait, type WaitChange, type WaitRequest, waitInRun } from './wait.ts';

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
