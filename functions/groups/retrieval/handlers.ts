import type { GroupHandlers } from '../../http/handler.ts';
import type { RetrievalDependencies } from './dependencies.ts';
import {
  cancelRetrievalEvaluationJob,
  getRetrievalEvaluationJob,
  listRetrievalEvaluationJobs,
  startRetrievalEvaluationComparisonJob,
  startRetrievalEvaluationJob,
} from './job-operations.ts';
import {
  compareRetrievalEvaluations,
  evaluateRetrieval,
  listRetrievalProfiles,
  retrieveRecords,
} from './retrieval-operations.ts';

/** The operations of the group retrieval over one store and one model. */
export function retrievalHandlers(dependencies: RetrievalDependencies): GroupHandlers<'retrieval'> {
  return {
    listRetrievalProfiles: listRetrievalProfiles(),
    retrieve: retrieveRecords(dependencies),
    evaluateRetrieval: evaluateRetrieval(dependencies),
    compareRetrievalEvaluations: compareRetrievalEvaluations(dependencies),
    startRetrievalEvaluationComparisonJob: startRetrievalEvaluationComparisonJob(dependencies),
    startRetrievalEvaluationJob: startRetrievalEvaluationJob(dependencies),
    listRetrievalEvaluationJobs: listRetrievalEvaluationJobs(dependencies),
    getRetrievalEvaluationJob: getRetrievalEvaluationJob(dependencies),
    cancelRetrievalEvaluationJob: cancelRetrievalEvaluationJob(dependencies),
  };
}
