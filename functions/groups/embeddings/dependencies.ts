import type { EmbeddingParts } from '../../embeddings/embed-texts.ts';
import type { EmbeddingProviders } from '../../embeddings/provider.ts';
import type { RecordAccess } from '../../identity/record-access.ts';

/** The parts that the operations of the group work with. */
export interface EmbeddingsDependencies {
  readonly providers: EmbeddingProviders;
  /** The store and the model of the active provider. */
  readonly embeddings: EmbeddingParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
}
