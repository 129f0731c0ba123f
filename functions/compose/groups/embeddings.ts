import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 330_000,
  async collections() {
    const { EMBEDDING_SPACES, EMBEDDINGS } = await import('../../embeddings/store-collections.ts');
    const { PROVIDER_GUARDS } = await import('../../providers/guard-record.ts');
    return [EMBEDDINGS, EMBEDDING_SPACES, PROVIDER_GUARDS];
  },
  async jobs(parts) {
    const [{ embeddingJobs }, { embeddingJobsPartsOf }] = await Promise.all([
      import('../../groups/embeddings/jobs/embedding-jobs.ts'),
      import('../embedding-jobs.ts'),
    ]);
    return [embeddingJobs(embeddingJobsPartsOf(parts))];
  },
  async upkeep(parts) {
    const [{ removeOldVectors }, { vectorRetentionOf }] = await Promise.all([
      import('../../embeddings/retention.ts'),
      import('../embedding-parts.ts'),
    ]);
    const retention = vectorRetentionOf(parts);
    return async (isOver) => ({ removedVectors: await removeOldVectors(retention, isOver) });
  },
  async load(parts) {
    const { settings } = parts;
    const [
      { embeddingsHandlers },
      { embeddingPartsOf },
      { embeddingProvidersOf },
      { embeddingJobDependenciesOf },
      { payloadLimitOf },
    ] = await Promise.all([
      import('../../groups/embeddings/handlers.ts'),
      import('../embedding-parts.ts'),
      import('../embedding-providers.ts'),
      import('../embedding-jobs.ts'),
      import('../record-jobs.ts'),
    ]);
    const own = {
      providers: embeddingProvidersOf(settings),
      embeddings: embeddingPartsOf(parts),
      embeddingJobs: await embeddingJobDependenciesOf(parts),
      access: recordAccessOf(settings),
      pageTokens: pageTokensOf(parts),
    };
    const bodyLimits = { startEmbeddingJob: payloadLimitOf(parts) };
    return { handlers: embeddingsHandlers(own), extra: [], bodyLimits };
  },
};
