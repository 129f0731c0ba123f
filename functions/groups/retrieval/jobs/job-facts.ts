import type { JobLayers } from '../../../jobs/job-family.ts';
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

const TAGS = {
  kind: 'svc.retrieval.kind',
  cases: 'svc.retrieval.cases',
  variants: 'svc.retrieval.variants',
} as const;

type Tags = Readonly<Record<string, string>>;

/** Job views of a whole list show the facts, so a run has them beside its payload, which would need a read each. */
export function tagsOf({ kind, cases, variants }: RetrievalJobFacts): Tags {
  return { [TAGS.kind]: kind, [TAGS.cases]: String(cases), [TAGS.variants]: String(variants) };
}

export function factsOf(tags: Tags): RetrievalJobFacts {
  return {
    kind: tags[TAGS.kind] === 'comparison' ? 'comparison' : 'evaluation',
    cases: Number(tags[TAGS.cases] ?? 0),
    variants: Number(tags[TAGS.variants] ?? 0),
  };
}
