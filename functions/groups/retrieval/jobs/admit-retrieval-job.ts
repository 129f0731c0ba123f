import { boundTo } from '../../../collections/bound-collections.ts';
import type { GroupHandlers } from '../../../http/handler.ts';
import { type AdmittedJob, accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, ownerOf } from '../../../jobs/job-family.ts';
import { requestPayload } from '../../../jobs/staged-payload.ts';
import {
  type ComparisonRequest,
  type EvaluationRequest,
  readComparison,
  readEvaluation,
} from '../../../retrieval/rules/evaluation/request.ts';
import { judgeRerankers, retrievalsOf } from '../library/judge-rerankers.ts';
import {
  COMPARISON_HANDLER,
  EVALUATION_HANDLER,
  type RetrievalJobFacts,
  type RetrievalLayers,
  tagsOf,
} from './job-facts.ts';
import { retrievalJobView } from './job-view.ts';

type Handlers = GroupHandlers<'retrieval'>;

/**
 * Admits a job that evaluates. A request that is too large for a run is staged. Throws `permission_denied` before it judges
 * the request, `validation_failed` or `limit_exceeded` for what a call without a job refuses too, and what `admitJob` throws.
 */
export function admitEvaluation(
  own: JobFamily<RetrievalLayers>,
  request: JobCall,
  body: EvaluationRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases } = readEvaluation(body);
    return { kind: 'evaluation', cases: cases.length, variants: 0 };
  });
}

/** Admits a job that compares; as `admitEvaluation`. */
export function admitComparison(
  own: JobFamily<RetrievalLayers>,
  request: JobCall,
  body: ComparisonRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases, variants } = readComparison(body);
    return { kind: 'comparison', cases: cases.length, variants: variants.length };
  });
}

export function startRetrievalEvaluationJob(
  own: JobFamily<RetrievalLayers>,
): Handlers['startRetrievalEvaluationJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const call = { caller, query, idempotencyKey, correlationId };
    return accepted(await admitEvaluation(own, call, body), retrievalJobView);
  };
}

export function startRetrievalEvaluationComparisonJob(
  own: JobFamily<RetrievalLayers>,
): Handlers['startRetrievalEvaluationComparisonJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const call = { caller, query, idempotencyKey, correlationId };
    return accepted(await admitComparison(own, call, body), retrievalJobView);
  };
}

async function admit(
  { retrieval: { records }, jobs, plugin, payloads, access, rerankAccess }: JobFamily<RetrievalLayers>,
  call: JobCall,
  body: EvaluationRequest | ComparisonRequest,
  read: () => RetrievalJobFacts,
): Promise<AdmittedJob> {
  const { caller, query, idempotencyKey, correlationId } = call;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  judgeRerankers(rerankAccess, { caller, space }, retrievalsOf(body));
  const facts = read();
  const isComparison = facts.kind === 'comparison';
  return admitJob(jobs, plugin, {
    operationId: isComparison ? 'startRetrievalEvaluationComparisonJob' : 'startRetrievalEvaluationJob',
    handlerId: isComparison ? COMPARISON_HANDLER : EVALUATION_HANDLER,
    ...ownerOf(access, call, space),
    ...(await requestPayload(payloads, space, body, 'evaluation', records.world.turns.of(space))),
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
