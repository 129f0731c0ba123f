import type { Run } from '../run.ts';

/**
 * A moment to store in the run or beside it: clocks are set back, and those of two instances differ, but the moments of a run never go
 * back. Ends of leases, timers and retries are judged by the clock itself: one that was ahead must not lengthen them.
 */
export function momentIn(run: Pick<Run, 'updatedAt' | 'startedAt' | 'completedAt'>, now: number): number {
  return Math.max(now, run.updatedAt, run.startedAt ?? 0, run.completedAt ?? 0);
}
