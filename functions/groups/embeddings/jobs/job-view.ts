import type { EmbeddingAnswer } from '../../../embeddings/embed-texts.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { type JobView, jobView } from '../../../jobs/job-view.ts';
import type { Run } from '../../../runs/run.ts';
import { type EmbeddingJobFacts, factsOf } from './job-facts.ts';
import { embeddingResults, resultBytesOf } from './kept-result.ts';

export interface EmbeddingJobView extends JobView, EmbeddingJobFacts {
  /** The first text that has no vector yet; `null` unless the job is running. */
  readonly currentIndex: number | null;
  readonly result: EmbeddingAnswer | null;
}

export function embeddingJobView(
  run: Run,
  result: EmbeddingAnswer | null = null,
  replayed = false,
): EmbeddingJobView {
  const current = run.status === 'running' ? run.statusDetails?.['currentIndex'] : null;
  return {
    ...jobView(run, replayed),
    ...factsOf(run.tags),
    currentIndex: typeof current === 'number' ? current : null,
    result,
  };
}

export function embeddingJobViews({
  jobs,
}: Pick<JobFamily, 'jobs'>): JobViews<EmbeddingJobView, EmbeddingAnswer> {
  return {
    list: 'embedding-jobs',
    limitDefault: 50,
    cancels: 'delete',
    view: embeddingJobView,
    results: (runs, { hold }) => embeddingResults(jobs, runs, hold),
    sizeOf: resultBytesOf,
  };
}
