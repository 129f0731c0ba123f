import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { admitComparison, admitEvaluation } from './jobs/admit-retrieval-job.ts';
import type { RetrievalLayers } from './jobs/job-facts.ts';
import { retrievalJobView } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'retrieval'>;

export function startRetrievalEvaluationJob(
  family: JobFamily<RetrievalLayers>,
): Handlers['startRetrievalEvaluationJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const request = { caller, query, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitEvaluation(family, request, body);
    return { status: 202, body: retrievalJobView(run, null, replayed), headers };
  };
}

export function startRetrievalEvaluationComparisonJob(
  family: JobFamily<RetrievalLayers>,
): Handlers['startRetrievalEvaluationComparisonJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const request = { caller, query, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitComparison(family, request, body);
    return { status: 202, body: retrievalJobView(run, null, replayed), headers };
  };
}
