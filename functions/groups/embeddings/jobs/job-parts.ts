import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { EmbeddingParts } from '../../../embeddings/embed-texts.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import type { Clock } from '../../../kernel/world.ts';

export const EMBEDDING_HANDLER = 'svc.embedding.batch';

export interface EmbeddingJobsParts {
  /** The store and the model of the settings. */
  readonly embeddings: EmbeddingParts;
  readonly clock: Clock;
  /** Shared with the jobs that write records: their upkeep removes what a crash leaves staged. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result stays in the checkpoints of the run. */
  readonly resultBytesMax: number;
}
