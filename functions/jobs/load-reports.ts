import type { LoadJob, LoadProgress } from '../collections/batch-upsert.ts';
import type { Clock } from '../kernel/world.ts';
import { REPORT_MS } from '../runs/plugin.ts';
import type { JobContext } from './job-plugin.ts';

/** Reports the counts at intervals. The first step of each execution also writes a checkpoint, which proves progress of the run. */
export function loadReports(clock: Clock, context: JobContext): LoadJob['progress'] {
  let reportedAt: number | null = null;
  return async (done: LoadProgress) => {
    const now = clock.now();
    if (reportedAt === null) await context.writeCheckpoint('loaded', { attempted: done.attempted });
    const isLast = done.stoppedOnError || done.attempted >= done.requested;
    if (reportedAt !== null && now - reportedAt < REPORT_MS && !isLast) return;
    reportedAt = now;
    const { requested, attempted, succeeded, failed, stoppedOnError } = done;
    const progress = requested === 0 ? 1 : attempted / requested;
    const statusDetails = { stoppedOnError };
    await context.report({ requested, attempted, succeeded, failed, progress, statusDetails });
  };
}
