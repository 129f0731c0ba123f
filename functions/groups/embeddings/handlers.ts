import type { EmbeddingProviders } from '../../embeddings/provider.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import { generateEmbeddings } from './generate-embeddings.ts';
import { startEmbeddingJob } from './jobs/admit-embedding-job.ts';
import { type EmbeddingLayers, embeddingJobViews } from './jobs/job-view.ts';
import {
  getEmbeddingProviderDoctor,
  listEmbeddingProviderGuidance,
  listEmbeddingProviders,
} from './provider-operations.ts';

/** The operations of the group embeddings over one store and one model. */
export function embeddingsHandlers(
  family: JobFamily<EmbeddingLayers>,
  providers: EmbeddingProviders,
): GroupHandlers<'embeddings'> {
  const views = embeddingJobViews(family);
  return {
    listEmbeddingProviders: listEmbeddingProviders(providers),
    listEmbeddingProviderGuidance: listEmbeddingProviderGuidance(providers),
    getEmbeddingProviderDoctor: getEmbeddingProviderDoctor(providers),
    generateEmbeddings: generateEmbeddings(family),
    startEmbeddingJob: startEmbeddingJob(family),
    listEmbeddingJobs: listing(family, views),
    getEmbeddingJob: showing(family, views),
    cancelEmbeddingJob: cancelling(family, views),
  };
}
