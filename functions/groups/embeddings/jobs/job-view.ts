import type { EmbeddingAnswer, EmbeddingItem } from '../../../embeddings/embed-texts.ts';
import type { Embedder } from '../../../embeddings/embedder.ts';
import { type PackedItems, unpackItems } from '../../../embeddings/jobs/packed-items.ts';
import type { EmbeddingParts } from '../../../embeddings/text-vectors.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobFamily, JobLayers } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import { type JobView, jobView, numberOrNull } from '../../../jobs/job-view.ts';
import type { ResultBytes } from '../../../jobs/kept-result.ts';
import { wholeResults } from '../../../jobs/read-jobs.ts';
import type { JsonObject } from '../../../kernel/canonical-json.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import { readParts } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';

/** The layers of the jobs that embed, with the store of vectors and the model of the settings. */
export interface EmbeddingLayers extends JobLayers {
  readonly patience: PatienceParts;
  readonly embeddings: EmbeddingParts;
}

/** The model that a job was admitted for. */
export interface EmbeddingJobFacts {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly purpose: string;
}

export const { tagsOf, factsOf } = jobFacts<EmbeddingJobFacts>({
  provider: ['svc.embedding.provider', ''],
  modelId: ['svc.embedding.model', ''],
  dimensions: ['svc.embedding.dimensions', 1],
  purpose: ['svc.embedding.purpose', ''],
});

/** Whether both produce vectors of the same model, so that one can continue the work of the other. */
export function isSameModel(
  one: Pick<Embedder, 'provider' | 'modelId' | 'dimensions'>,
  other: EmbeddingJobFacts,
): boolean {
  return (
    one.provider === other.provider && one.modelId === other.modelId && one.dimensions === other.dimensions
  );
}

export interface EmbeddingJobView extends JobView, EmbeddingJobFacts {
  /** Index of the first text without a vector; `null` unless the job is running. */
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
    currentIndex: numberOrNull(current),
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
    results: (runs, bytes) => embeddingResults(jobs, runs, bytes),
    sizeOf: resultBytesOf,
  };
}

/** The result of a run whose answer is too large for it. `parts` is the number of checkpoints with the items. */
export type KeptResult = EmbeddingJobFacts & { readonly parts: number };

/** The checkpoint of a part, counted from 0. */
export function partKey(part: number): string {
  return `embedded-${part}`;
}

/** Bytes of one number of a vector as JSON. */
const NUMBER_BYTES = 13;

/** Approximate bytes of the job's result as JSON. */
function resultBytesOf({ status, tags, job }: Run): number {
  if (status !== 'succeeded') return 0;
  return (job?.requested ?? 0) * factsOf(tags).dimensions * NUMBER_BYTES;
}

/**
 * The results of the jobs in their order; `null` for a job without a result.
 * @testonly
 */
export function embeddingResults(jobs: Jobs, runs: readonly Run[], bytes?: ResultBytes) {
  const wholeOf = (run: Run, result: JsonObject) => wholeResult(jobs, run, result);
  return wholeResults<EmbeddingAnswer>(jobs, runs, { sizeOf: resultBytesOf, wholeOf }, bytes);
}

async function wholeResult({ runtime }: Jobs, run: Run, result: JsonObject): Promise<EmbeddingAnswer> {
  if (!('parts' in result)) return result as unknown as EmbeddingAnswer;
  const { parts, ...facts } = result as unknown as KeptResult;
  const keys = Array.from({ length: parts }, (_, part) => partKey(part));
  const items: EmbeddingItem[] = [];
  for (const part of await readParts(runtime, run.id, keys))
    items.push(...unpackItems(part as unknown as PackedItems, items.length));
  return { ...facts, items };
}
