import type { Embedder } from '../../../embeddings/embedder.ts';
import type { EmbeddingParts } from '../../../embeddings/text-vectors.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
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

const TAGS = {
  provider: 'svc.embedding.provider',
  modelId: 'svc.embedding.model',
  dimensions: 'svc.embedding.dimensions',
  purpose: 'svc.embedding.purpose',
} as const;

type Tags = Readonly<Record<string, string>>;

/** Job views of a whole list show the facts, so a run has them beside its payload, which would need a read each. */
export function tagsOf({ provider, modelId, dimensions, purpose }: EmbeddingJobFacts): Tags {
  return {
    [TAGS.provider]: provider,
    [TAGS.modelId]: modelId,
    [TAGS.dimensions]: String(dimensions),
    [TAGS.purpose]: purpose,
  };
}

export function factsOf(tags: Tags): EmbeddingJobFacts {
  return {
    provider: tags[TAGS.provider] ?? '',
    modelId: tags[TAGS.modelId] ?? '',
    dimensions: Number(tags[TAGS.dimensions] ?? 1),
    purpose: tags[TAGS.purpose] ?? '',
  };
}

/** Whether the vectors of both are of one kind, so that one may go on with what the other began. */
export function isSameModel(
  one: Pick<Embedder, 'provider' | 'modelId' | 'dimensions'>,
  other: EmbeddingJobFacts,
): boolean {
  return (
    one.provider === other.provider && one.modelId === other.modelId && one.dimensions === other.dimensions
  );
}
