import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import type { RetrievalParts } from '../../../retrieval/parts.ts';
import type { RerankAccess } from '../library/judge-rerankers.ts';

export const EVALUATION_HANDLER = 'svc.retrieval.evaluation.run';
export const COMPARISON_HANDLER = 'svc.retrieval.evaluation.compare';

export interface RetrievalJobsParts {
  readonly retrieval: RetrievalParts;
  /** Shared with the jobs that write records: their upkeep removes what a crash leaves staged. */
  readonly payloads: StagedPayloads;
  readonly access: Pick<RecordAccess, 'spaceOf' | 'ownerOf' | 'judgeRecordJob'>;
  readonly rerankAccess: RerankAccess;
  /** The cases of a larger report stay in the checkpoints of the run. */
  readonly resultBytesMax: number;
}
