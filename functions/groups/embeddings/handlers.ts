import type { GroupHandlers } from '../../http/handler.ts';
import type { EmbeddingsDependencies } from './dependencies.ts';
import { generateEmbeddings } from './generate-embeddings.ts';
import {
  cancelEmbeddingJob,
  getEmbeddingJob,
  listEmbeddingJobs,
  startEmbeddingJob,
} from './job-operations.ts';
import {
  getEmbeddingProviderDoctor,
  listEmbeddingProviderGuidance,
  listEmbeddingProviders,
} from './provider-operations.ts';

/** The operations of the group embeddings over one store and one model. */
export function embeddingsHandlers(dependencies: EmbeddingsDependencies): GroupHandlers<'embeddings'> {
  return {
    listEmbeddingProviders: listEmbeddingProviders(dependencies),
    listEmbeddingProviderGuidance: listEmbeddingProviderGuidance(dependencies),
    getEmbeddingProviderDoctor: getEmbeddingProviderDoctor(dependencies),
    generateEmbeddings: generateEmbeddings(dependencies),
    startEmbeddingJob: startEmbeddingJob(dependencies),
    listEmbeddingJobs: listEmbeddingJobs(dependencies),
    getEmbeddingJob: getEmbeddingJob(dependencies),
    cancelEmbeddingJob: cancelEmbeddingJob(dependencies),
  };
}
