import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import type { EmbeddingLayers } from './job-view.ts';

export const EMBEDDING_HANDLER = 'svc.embedding.batch';

/** The jobs that embed texts. A worker loads the code of the handler with the first job. */
export function embeddingJobs(layers: EmbeddingLayers): JobPlugin {
  return {
    pluginId: 'svc.embeddings',
    name: 'Embeddings',
    family: 'embedding',
    statusPath: '/embeddings/jobs',
    handlers: [
      {
        handlerId: EMBEDDING_HANDLER,
        displayName: 'Embed many texts',
        judge: ({ caller, space }) => layers.access.judgeRecordJob({ caller, space, operation: 'write' }),
        async run(context) {
          const { runEmbeddingJob } = await import('./run-embedding-job.ts');
          return runEmbeddingJob(layers, context);
        },
      },
    ],
  };
}
