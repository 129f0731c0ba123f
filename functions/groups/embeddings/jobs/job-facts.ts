import type { Embedder } from '../../../embeddings/embedder.ts';
import type { EmbeddingParts } from '../../../embeddings/text-vectors.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import type { PatienceParts } from '../../../providers/patience.ts';

export const EMBEDDING_HANDLER = 'svc.embedding.batch';

/** The layers of the jobs that embed: also the store of vectors and the model of the settings. */
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

/** Whether the vectors of both are of one kind, so that one may go on with what the other began. */
export function isSameModel(
  one: Pick<Embedder, 'provider' | 'modelId' | 'dimensions'>,
  other: EmbeddingJobFacts,
): boolean {
  return (
    one.provider === other.provider && one.modelId === other.modelId && one.dimensions === other.dimensions
  );
}
