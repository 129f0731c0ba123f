import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { admitEmbeddingJob } from './jobs/admit-embedding-job.ts';
import type { EmbeddingLayers } from './jobs/job-facts.ts';
import { embeddingJobView } from './jobs/job-view.ts';

export function startEmbeddingJob(
  family: JobFamily<EmbeddingLayers>,
): GroupHandlers<'embeddings'>['startEmbeddingJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const call = { caller, query, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitEmbeddingJob(family, call, body);
    return { status: 202, body: embeddingJobView(run, null, replayed), headers };
  };
}
