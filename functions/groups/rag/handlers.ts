import type { GroupHandlers } from '../../http/handler.ts';
import { buildRagContext, buildRagPrompt } from './context-operations.ts';
import type { RagDependencies } from './dependencies.ts';
import { evaluateRagContext } from './evaluate-operation.ts';
import {
  ingestRagText,
  ingestRagTextBatch,
  startRagIngestionBatchJob,
  startRagIngestionTextJob,
} from './ingest-operations.ts';
import { cancelRagIngestionJob, getRagIngestionJob, listRagIngestionJobs } from './job-operations.ts';

/** The operations of the group rag over one store and one model. */
export function ragHandlers(dependencies: RagDependencies): GroupHandlers<'rag'> {
  return {
    ingestRagText: ingestRagText(dependencies),
    ingestRagTextBatch: ingestRagTextBatch(dependencies),
    startRagIngestionTextJob: startRagIngestionTextJob(dependencies),
    startRagIngestionBatchJob: startRagIngestionBatchJob(dependencies),
    listRagIngestionJobs: listRagIngestionJobs(dependencies),
    getRagIngestionJob: getRagIngestionJob(dependencies),
    cancelRagIngestionJob: cancelRagIngestionJob(dependencies),
    buildRagContext: buildRagContext(dependencies),
    evaluateRagContext: evaluateRagContext(dependencies),
    buildRagPrompt: buildRagPrompt(dependencies),
  };
}
