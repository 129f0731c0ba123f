import type { EmbeddingAnswer } from '../../../embeddings/embed-texts.ts';
import { type JobListRequest, type JobPage, listJobs } from '../../../jobs/read-jobs.ts';
import type { EmbeddingJobDependencies } from './admit-embedding-job.ts';
import { embeddingResults, resultBytesOf } from './kept-result.ts';

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
  const request = { plugin, space, subject: null, limit, after, includeResult, sizeOf: resultBytesOf };
  const page = await listJobs(jobs, request);
  return { ...page, results: includeResult ? await embeddingResults(jobs, page.jobs, hold) : [] };
}
