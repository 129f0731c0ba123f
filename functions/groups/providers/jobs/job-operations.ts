import { cancelJob, getJob, listJobs } from '../../../jobs/read-jobs.ts';
import type { ProviderJobDependencies } from './admit-provider-job.ts';
import { type ProviderJobView, providerJobView } from './job-view.ts';
import { type Hold, providerResults } from './kept-result.ts';

type Of = Pick<ProviderJobDependencies, 'jobs' | 'plugin'>;

export interface ProviderJobList {
  readonly space: string;
  /** Only jobs of this provider; `null` for all. */
  readonly provider: string | null;
  readonly limit: number;
  /** `next` of the page before. */
  readonly after: string | null;
  readonly includeResult: boolean;
}

/** A page of jobs, newest first. With results it ends before they are too large for one answer. */
export async function providerJobPage(
  { jobs, plugin }: Of,
  { provider, ...request }: ProviderJobList,
  hold?: Hold,
) {
  const { jobs: runs, next } = await listJobs(jobs, { plugin, subject: provider, ...request });
  const results = request.includeResult ? await providerResults(jobs, runs, hold) : [];
  return { jobs: runs.map((run, at) => providerJobView(run, results[at] ?? null)), next };
}

/** Throws `not_found` for a job that the space does not have. */
export async function readProviderJob(
  { jobs, plugin }: Of,
  space: string,
  jobId: string,
  hold?: Hold,
): Promise<ProviderJobView> {
  const run = await getJob(jobs, { plugin, space }, jobId);
  const [result = null] = await providerResults(jobs, [run], hold);
  return providerJobView(run, result);
}

/** Cancels a queued job at once, and asks a running one to stop. A finished one shows the request and is otherwise as it was. */
export async function cancelProviderJob(
  { jobs, plugin }: Of,
  space: string,
  jobId: string,
  {
    now,
    hold,
    withResult,
  }: {
    readonly now: number;
    readonly hold?: Hold | undefined;
    /** A caller who may not read gets the job without what the provider answered. */
    readonly withResult: boolean;
  },
): Promise<ProviderJobView> {
  const run = await cancelJob(jobs, { plugin, space }, jobId, now);
  const [result = null] = withResult ? await providerResults(jobs, [run], hold) : [];
  return { ...providerJobView(run, result), cancellationRequested: true };
}
