import { type JobListRequest, type JobPage, listJobs } from '../../../jobs/read-jobs.ts';
import type { RetrievalJobDependencies } from './admit-retrieval-job.ts';
import type { RetrievalReport } from './job-view.ts';
import { reportBytesOf, retrievalReports } from './kept-report.ts';

export interface RetrievalJobPage extends JobPage {
  /** Those of the jobs in their order; none where the request asks for none. */
  readonly reports: readonly (RetrievalReport | null)[];
}

/** A page of jobs, newest first. With reports it ends before they are too large for one answer. */
export async function retrievalJobPage(
  { jobs, plugin }: Pick<RetrievalJobDependencies, 'jobs' | 'plugin'>,
  request: Pick<JobListRequest, 'space' | 'limit' | 'after' | 'includeResult'>,
  hold?: (bytes: number) => void,
): Promise<RetrievalJobPage> {
  const page = await listJobs(jobs, { ...request, plugin, subject: null, sizeOf: reportBytesOf });
  return { ...page, reports: request.includeResult ? await retrievalReports(jobs, page.jobs, hold) : [] };
}
