import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { RetrievalParts } from '../../retrieval/parts.ts';
import type { RerankAccess } from '../retrieval/library/judge-rerankers.ts';
import type { RagJobDependencies } from './jobs/admit-rag-job.ts';

/** The parts that the operations of the group work with. */
export interface RagDependencies {
  /** What contexts search with; its records and its model are those of ingestions too. */
  readonly retrieval: RetrievalParts;
  /** The jobs that ingest documents. */
  readonly ragJobs: RagJobDependencies;
  readonly pageTokens: PageTokens;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  readonly rerankAccess: RerankAccess;
}
