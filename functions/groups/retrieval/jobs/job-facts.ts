import type { JobLayers } from '../../../jobs/job-family.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RetrievalParts } from '../../../retrieval/parts.ts';
import type { RerankAccess } from '../library/judge-rerankers.ts';

export const EVALUATION_HANDLER = 'svc.retrieval.evaluation.run';
export const COMPARISON_HANDLER = 'svc.retrieval.evaluation.compare';

/** The layers of evaluations: also those of retrievals, and who may use a reranker. */
export interface RetrievalLayers extends Omit<JobLayers, 'records'> {
  readonly patience: PatienceParts;
  readonly retrieval: RetrievalParts;
  readonly rerankAccess: RerankAccess;
}

/** What a job was admitted for. */
export interface RetrievalJobFacts {
  readonly kind: 'evaluation' | 'comparison';
  readonly cases: number;
  /** 0 in an evaluation. */
  readonly variants: number;
}

export const { tagsOf, factsOf } = jobFacts<RetrievalJobFacts>({
  kind: ['svc.retrieval.kind', 'evaluation'],
  cases: ['svc.retrieval.cases', 0],
  variants: ['svc.retrieval.variants', 0],
});
