import type { GroupModule } from '../group.ts';
import { jobFamilyOf } from '../job-family.ts';

export const group: GroupModule = {
  bytesMax: 330_000,
  async collections() {
    const { EMBEDDING_SPACES, EMBEDDINGS } = await import('../../embeddings/store-collections.ts');
    const { PROVIDER_GUARDS } = await import('../../providers/guard-record.ts');
    return [EMBEDDINGS, EMBEDDING_SPACES, PROVIDER_GUARDS];
  },
  async jobs(parts) {
    const [{ embeddingJobs }, { embeddingPartsOf }, { jobLayersOf }] = await Promise.all([
      import('../../groups/embeddings/jobs/embedding-jobs.ts'),
      import('../embedding-parts.ts'),
      import('../job-layers.ts'),
    ]);
    return [embeddingJobs({ ...jobLayersOf(parts), embeddings: embeddingPartsOf(parts) })];
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
      { embeddingJobs },
      { embeddingPartsOf },
      { embeddingProvidersOf },
      { jobLayersOf, payloadLimitOf },
    ] = await Promise.all([
      import('../../groups/embeddings/handlers.ts'),
      import('../../groups/embeddings/jobs/embedding-jobs.ts'),
      import('../embedding-parts.ts'),
      import('../embedding-providers.ts'),
      import('../job-layers.ts'),
    ]);
    const layers = { ...jobLayersOf(parts), embeddings: embeddingPartsOf(parts) };
    const family = await jobFamilyOf(parts, layers, embeddingJobs);
    const bodyLimits = { startEmbeddingJob: payloadLimitOf(parts) };
    return { handlers: embeddingsHandlers(family, embeddingProvidersOf(settings)), extra: [], bodyLimits };
  },
};
