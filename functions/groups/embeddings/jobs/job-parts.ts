import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Embedder } from '../../../embeddings/embedder.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import type { Clock } from '../../../kernel/world.ts';
import type { RecordStore } from '../../../store/port.ts';

export const EMBEDDING_HANDLER = 'svc.embedding.batch';

export interface EmbeddingJobsParts {
  readonly store: () => Promise<RecordStore>;
  readonly clock: Clock;
  /** The model of the settings. Throws where there is none. */
  readonly embedder: () => Promise<Embedder>;
  /** Shared with the jobs that write records: their upkeep removes what a crash leaves staged. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result stays in the checkpoints of the run. */
  readonly resultBytesMax: number;
}
