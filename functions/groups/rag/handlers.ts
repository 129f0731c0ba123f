import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import { buildRagContext, buildRagPrompt } from './context-operations.ts';
import { evaluateRagContext } from './evaluate-operation.ts';
import {
  ingestRagText,
  ingestRagTextBatch,
  startRagIngestionBatchJob,
  startRagIngestionTextJob,
} from './jobs/admit-rag-job.ts';
import { type RagLayers, ragJobViews } from './jobs/job-view.ts';

/** The operations of the group rag over one store and one model. */
export function ragHandlers(family: JobFamily<RagLayers>): GroupHandlers<'rag'> {
  const views = ragJobViews(family);
  return {
    ingestRagText: ingestRagText(family),
    ingestRagTextBatch: ingestRagTextBatch(family),
    startRagIngestionTextJob: startRagIngestionTextJob(family),
    startRagIngestionBatchJob: startRagIngestionBatchJob(family),
    listRagIngestionJobs: listing(family, views),
    getRagIngestionJob: showing(family, views),
    cancelRagIngestionJob: cancelling(family, views),
    buildRagContext: buildRagContext(family),
    evaluateRagContext: evaluateRagContext(family),
    buildRagPrompt: buildRagPrompt(family),
  };
}
