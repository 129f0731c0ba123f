import type { JobLayers } from '../../../jobs/job-family.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RetrievalParts } from '../../../retrieval/parts.ts';
import type { RerankAccess } from '../../retrieval/library/judge-rerankers.ts';

export const TEXT_HANDLER = 'svc.rag.ingestion.text';
export const BATCH_HANDLER = 'svc.rag.ingestion.batch';

/** The layers of the group: also the model of the settings, the traces, and what contexts search with. */
export interface RagLayers extends JobLayers, Pick<RetrievalParts, 'embeddings' | 'traces'> {
  readonly patience: PatienceParts;
  readonly retrieval: RetrievalParts;
  readonly rerankAccess: RerankAccess;
}
