import type { EmbeddingAnswer } from '../../../embeddings/embed-texts.ts';
import { type JobListRequest, type JobPage, listJobs } from '../../../jobs/read-jobs.ts';
import type { EmbeddingJobDependencies } from './admit-embedding-job.ts';
import { embeddingResults, fittingJobs } from './kept-result.ts';

export interface EmbeddingJobPage extends JobPage {
  /** Those of the jobs in their order; none where the request asks for none. */
  readonly results: readonly (EmbeddingAnswer | null)[];
}

/** A page of jobs, newest first. With results it ends before they are too large for one answer. */
export async function embeddingJobPage(
  { jobs, plugin }: Pick<EmbeddingJobDependencies, 'jobs' | 'plugin'>,
  { space, limit, after, includeResult }: Pick<JobListRequest, 'space' | 'limit' | 'after' | 'includeResult'>,
  hold?: (bytes: number) => void,
): Promise<EmbeddingJobPage> {
  const request = { plugin, space, subject: null, limit, after, includeResult: false };
  const page = await listJobs(jobs, request);
  if (!includeResult) return { ...page, results: [] };
  const fitting = fittingJobs(page.jobs);
  // The store knows only where a page of its own ends, so a shorter page is read once more.
  const shown = fitting === page.jobs.length ? page : await listJobs(jobs, { ...request, limit: fitting });
  return { ...shown, results: await embeddingResults(jobs, shown.jobs, hold) };
}
