import { boundTo } from '../../../collections/bound-collections.ts';
import type { Caller } from '../../../identity/caller.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import {
  type ComparisonRequest,
  type EvaluationRequest,
  readComparison,
  readEvaluation,
} from '../../../retrieval/rules/evaluation/request.ts';
import { requestPayload } from '../../records/library/staged-payload.ts';
import { judgeRerankers, retrievalsOf } from '../library/judge-rerankers.ts';
import { type RetrievalJobFacts, tagsOf } from './job-facts.ts';
import { COMPARISON_HANDLER, EVALUATION_HANDLER, type RetrievalJobsParts } from './job-parts.ts';

/** What the operations that admit and show these jobs work with. */
export interface RetrievalJobDependencies
  extends Pick<RetrievalJobsParts, 'retrieval' | 'payloads' | 'access' | 'rerankAccess'> {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
}

export interface RetrievalJobRequest {
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/**
 * Admits a job that evaluates. A request that is too large for a run is staged. Throws `permission_denied` before it judges
 * the request, `validation_failed` or `limit_exceeded` for what a call without a job refuses too, and what `admitJob` throws.
 */
export function admitEvaluation(
  own: RetrievalJobDependencies,
  request: RetrievalJobRequest,
  body: EvaluationRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases } = readEvaluation(body);
    return { kind: 'evaluation', cases: cases.length, variants: 0 };
  });
}

/** Admits a job that compares; as `admitEvaluation`. */
export function admitComparison(
  own: RetrievalJobDependencies,
  request: RetrievalJobRequest,
  body: ComparisonRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases, variants } = readComparison(body);
    return { kind: 'comparison', cases: cases.length, variants: variants.length };
  });
}

async function admit(
  { retrieval: { records }, jobs, plugin, payloads, access, rerankAccess }: RetrievalJobDependencies,
  { caller, query, idempotencyKey, correlationId }: RetrievalJobRequest,
  body: EvaluationRequest | ComparisonRequest,
  read: () => RetrievalJobFacts,
): Promise<AdmittedJob> {
  const space = access.spaceOf(caller, 'write', query.tenantId);
  judgeRerankers(rerankAccess, { caller, space }, retrievalsOf(body));
  const facts = read();
  const isComparison = facts.kind === 'comparison';
  return admitJob(jobs, plugin, {
    operationId: isComparison ? 'startRetrievalEvaluationComparisonJob' : 'startRetrievalEvaluationJob',
    handlerId: isComparison ? COMPARISON_HANDLER : EVALUATION_HANDLER,
    caller,
    scope: jobScope(query, access.ownerOf(caller), caller.principal),
    space,
    ...requestPayload(payloads, space, body, 'Durable evaluation payload'),
    bind: () =>
      boundTo(
        records,
        space,
        retrievalsOf(body).flatMap(({ collections }) => collections ?? []),
      ),
    requested: isComparison ? facts.variants : facts.cases,
    idempotencyKey,
    correlationId,
    tags: tagsOf(facts),
  });
}
