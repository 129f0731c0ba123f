import type { EmbeddingParts } from '../../embeddings/embed-texts.ts';
import type { EmbeddingProviders } from '../../embeddings/provider.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { EmbeddingJobDependencies } from './jobs/admit-embedding-job.ts';

/** The parts that the operations of the group work with. */
export interface EmbeddingsDependencies {
  readonly providers: EmbeddingProviders;
  /** The store and the model of the active provider. */
  readonly embeddings: EmbeddingParts;
  /** The jobs that embed texts. */
  readonly embeddingJobs: EmbeddingJobDependencies;
  readonly pageTokens: PageTokens;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
}
