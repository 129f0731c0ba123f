import { boundParts } from '../../../collections/bound-collections.ts';
import type { JobFacts, JobHandler, JobPlugin } from '../../../jobs/job-plugin.ts';
import type { RagLayers } from './job-view.ts';

export const TEXT_HANDLER = 'svc.rag.ingestion.text';
export const BATCH_HANDLER = 'svc.rag.ingestion.batch';

/** The jobs that ingest documents. A worker loads the code of the handlers with the first job. */
export function ragJobs(layers: RagLayers): JobPlugin {
  const judge = ({ caller, space }: JobFacts) =>
    layers.access.judgeRecordJob({ caller, space, operation: 'write' });
  const handler = (handlerId: string, displayName: string): JobHandler => ({
    handlerId,
    displayName,
    // Two ingestions of one document must not interleave, because each takes several transactions.
    concurrencyKey: 'svc.rag.ingestion',
    judge,
    async run(context) {
      const { runRagJob } = await import('./run-rag-job.ts');
      return runRagJob({ ...layers, records: boundParts(layers.records, context.job) }, context);
    },
  });
  return {
    pluginId: 'svc.rag.ingestion',
    name: 'RAG ingestion',
    family: 'rag-ingestion',
    statusPath: '/rag/ingestion/jobs',
    handlers: [handler(TEXT_HANDLER, 'Ingest a text'), handler(BATCH_HANDLER, 'Ingest several texts')],
  };
}
