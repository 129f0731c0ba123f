import type { StagedPayloads } from '../collections/staged-payloads.ts';
import { isTerminal, type Run } from '../runs/run.ts';
import { PAYLOAD_TAG } from '../runs/run-job.ts';
import type { Jobs } from './admit-job.ts';
import { cancelJob, type JobPlace } from './read-jobs.ts';

/** A family of jobs, whose requests may be staged. */
export interface StagingFamily {
  readonly jobs: Jobs;
  readonly payloads?: Pick<StagedPayloads, 'discard'>;
}

/**
 * Cancels a queued job at once, and asks a running one to stop. Throws `not_found` for a job that the space does not have. Discards
 * the staged request where the job is over without a success: no attempt has the run then, and none follows (decision 0038).
 */
export async function cancelStagedJob(
  { jobs, payloads }: StagingFamily,
  place: JobPlace,
  jobId: string,
  now: number,
): Promise<Run> {
  const run = await cancelJob(jobs, place, jobId, now);
  const staged = run.tags[PAYLOAD_TAG];
  // A job that has succeeded has discarded it.
  const isOver = isTerminal(run.status) && run.status !== 'succeeded';
  if (staged !== undefined && isOver) await payloads?.discard(place.space, staged);
  return run;
}
