import type { RecordParts } from '../collections/parts.ts';
import type { EmbeddingParts } from '../embeddings/text-vectors.ts';
import type { TraceParts } from '../traces/parts.ts';
import type { Rerankers } from './reranker.ts';

/** The dependencies of retrievals. */
export interface RetrievalParts {
  readonly records: RecordParts;
  readonly embeddings: EmbeddingParts;
  readonly traces: TraceParts;
  readonly rerankers: Rerankers;
}

const CANDIDATES_DEFAULT = 5_000;

/** The most candidates of a search by words that the deployment scores. */
export function scoredCandidatesMax({ records }: Pick<RetrievalParts, 'records'>): number {
  return records.limits.lexicalCandidatesMax ?? CANDIDATES_DEFAULT;
}
