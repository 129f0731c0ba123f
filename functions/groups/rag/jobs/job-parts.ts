import type { RecordParts } from '../../../collections/parts.ts';
import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { EmbeddingParts } from '../../../embeddings/text-vectors.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import type { TraceParts } from '../../../traces/parts.ts';

export const TEXT_HANDLER = 'svc.rag.ingestion.text';
export const BATCH_HANDLER = 'svc.rag.ingestion.batch';

export interface RagJobsParts {
  readonly records: RecordParts;
  /** The store and the model of the settings. */
  readonly embeddings: EmbeddingParts;
  readonly traces: TraceParts;
  /** Shared with the jobs that write records: their upkeep removes what a crash leaves staged. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result is the artifact of the run, or lies in its checkpoints. */
  readonly resultBytesMax: number;
}
