import type { ReadLanes } from '../../collections/read-lanes.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import {
  startRetrievalEvaluationComparisonJob,
  startRetrievalEvaluationJob,
} from './jobs/admit-retrieval-job.ts';
import { type RetrievalLayers, retrievalJobViews } from './jobs/job-view.ts';
import {
  compareRetrievalEvaluations,
  evaluateRetrieval,
  listRetrievalProfiles,
  retrieveRecords,
} from './retrieval-operations.ts';

/** The operations of the group retrieval. `evaluations` limits evaluations without a job, because each makes many retrievals. */
export function retrievalHandlers(
  family: JobFamily<RetrievalLayers>,
  evaluations: ReadLanes,
): GroupHandlers<'retrieval'> {
  const views = retrievalJobViews(family);
  return {
    listRetrievalProfiles: listRetrievalProfiles(),
    retrieve: retrieveRecords(family),
    evaluateRetrieval: evaluateRetrieval(family, evaluations),
    compareRetrievalEvaluations: compareRetrievalEvaluations(family, evaluations),
    startRetrievalEvaluationComparisonJob: startRetrievalEvaluationComparisonJob(family),
    startRetrievalEvaluationJob: startRetrievalEvaluationJob(family),
    listRetrievalEvaluationJobs: listing(family, views),
    getRetrievalEvaluationJob: showing(family, views),
    cancelRetrievalEvaluationJob: cancelling(family, views),
  };
}
