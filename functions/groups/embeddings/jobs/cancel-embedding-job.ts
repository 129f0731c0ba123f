import { cancelJob } from '../../../jobs/read-jobs.ts';
import type { Run } from '../../../runs/run.ts';
import { PAYLOAD_TAG } from '../../records/library/staged-payload.ts';
import type { EmbeddingJobDependencies } from './admit-embedding-job.ts';

/** Cancels a queued job at once, and asks a running one to stop. Throws `not_found` for a job that the space does not have. */
export async function cancelInSpace(
  { jobs, plugin, payloads }: EmbeddingJobDependencies,
  space: string,
  jobId: string,
  now: number,
): Promise<Run> {
  const run = await cancelJob(jobs, { plugin, space }, jobId, now);
  const staged = run.tags[PAYLOAD_TAG];
  // No handler will remove the payload of a job that was cancelled while it waited.
  if (staged !== undefined && run.status === 'cancelled') await payloads.discard(space, staged);
  return run;
}
