import type { ReadLanes } from '../../collections/read-lanes.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { RetrievalParts } from '../../retrieval/parts.ts';
import type { RetrievalJobDependencies } from './jobs/admit-retrieval-job.ts';
import type { RerankAccess } from './library/judge-rerankers.ts';

/** The parts that the operations of the group work with. */
export interface RetrievalDependencies {
  readonly retrieval: RetrievalParts;
  /** Places for evaluations without a job: each is as much work as many retrievals. */
  readonly evaluations: ReadLanes;
  /** The jobs that evaluate and compare. */
  readonly retrievalJobs: RetrievalJobDependencies;
  readonly pageTokens: PageTokens;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  readonly rerankAccess: RerankAccess;
}
