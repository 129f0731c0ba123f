import { boundTo } from '../../../collections/bound-collections.ts';
import type { GroupHandlers } from '../../../http/handler.ts';
import { type AdmittedJob, accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, jobCall, ofCall } from '../../../jobs/job-family.ts';
import { requestPayload } from '../../../jobs/staged-payload.ts';
import {
  type ComparisonRequest,
  type EvaluationRequest,
  readComparison,
  readEvaluation,
} from '../../../retrieval/rules/evaluation/request.ts';
import { judgeRerankers, retrievalsOf } from '../library/judge-rerankers.ts';
import { type RetrievalJobFacts, type RetrievalLayers, retrievalJobView, tagsOf } from './job-view.ts';
import { COMPARISON_HANDLER, EVALUATION_HANDLER } from './retrieval-jobs.ts';

type Handlers = GroupHandlers<'retrieval'>;
type Family = JobFamily<RetrievalLayers>;

/**
 * Admits a job that evaluates. Stages a request that is too large for a run. Throws `permission_denied` before it checks the request,
 * `validation_failed` or `limit_exceeded` as in a call without a job, and the errors of `admitJob`.
 * @testonly
 */
export function admitEvaluation(
  own: Family,
  request: JobCall,
  body: EvaluationRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases } = readEvaluation(body);
    return { kind: 'evaluation', cases: cases.length, variants: 0 };
  });
}

/**
 * Admits a job that compares, like `admitEvaluation`.
 * @testonly
 */
export function admitComparison(
  own: Family,
  request: JobCall,
  body: ComparisonRequest,
): Promise<AdmittedJob> {
  return admit(own, request, body, () => {
    const { cases, variants } = readComparison(body);
    return { kind: 'comparison', cases: cases.length, variants: variants.length };
  });
}

export function startRetrievalEvaluationJob(own: Family): Handlers['startRetrievalEvaluationJob'] {
  return async (input, context) =>
    accepted(await admitEvaluation(own, jobCall(input, context), input.body), retrievalJobView);
}

export function startRetrievalEvaluationComparisonJob(
  own: Family,
): Handlers['startRetrievalEvaluationComparisonJob'] {
  return async (input, context) =>
    accepted(await admitComparison(own, jobCall(input, context), input.body), retrievalJobView);
}

async function admit(
  { retrieval: { records }, jobs, plugin, payloads, access, rerankAccess }: Family,
  call: JobCall,
  body: EvaluationRequest | ComparisonRequest,
  read: () => RetrievalJobFacts,
): Promise<AdmittedJob> {
  const { caller, query } = call;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const retrievals = retrievalsOf(body);
  judgeRerankers(rerankAccess, { caller, space }, retrievals);
  const facts = read();
  const isComparison = facts.kind === 'comparison';
  const named = retrievals.flatMap(({ collections }) => collections ?? []);
  return admitJob(jobs, plugin, {
    ...ofCall(access, call, space),
    operationId: isComparison ? 'startRetrievalEvaluationComparisonJob' : 'startRetrievalEvaluationJob',
    handlerId: isComparison ? COMPARISON_HANDLER : EVALUATION_HANDLER,
    ...(await requestPayload(payloads, space, body, 'evaluation', records.world.turns.of(space))),
    bind: () => boundTo(records, space, named),
    requested: isComparison ? facts.variants : facts.cases,
    tags: tagsOf(facts),
  });
}
