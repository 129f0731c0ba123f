import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { cancelJob } from '../../../jobs/read-jobs.ts';
import type { Run } from '../../../runs/run.ts';
import { PAYLOAD_TAG } from './staged-payload.ts';

interface CancelParts {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly payloads: StagedPayloads;
}

/** Cancels a queued job at once, and asks a running one to stop. Throws `not_found` for a job that the space does not have. */
export async function cancelInSpace(
  { jobs, plugin, payloads }: CancelParts,
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
