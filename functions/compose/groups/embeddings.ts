import type { GroupModule } from '../group.ts';
import { jobFamilyOf } from '../job-family.ts';
import type { LayerParts } from '../layer.ts';

export const group: GroupModule = {
  bytesMax: 333_000,
  async collections() {
    const { EMBEDDING_SPACES, EMBEDDINGS } = await import('../../embeddings/store-collections.ts');
    const { PROVIDER_GUARDS } = await import('../../providers/guard-record.ts');
    return [EMBEDDINGS, EMBEDDING_SPACES, PROVIDER_GUARDS];
  },
  async jobs(parts) {
    const [{ embeddingJobs }, layers] = await Promise.all([
      import('../../groups/embeddings/jobs/embedding-jobs.ts'),
      layersOf(parts),
    ]);
    return [embeddingJobs(layers)];
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
    const [{ embeddingsHandlers }, { embeddingJobs }, { embeddingProvidersOf }, { payloadLimitOf }, layers] =
      await Promise.all([
        import('../../groups/embeddings/handlers.ts'),
        import('../../groups/embeddings/jobs/embedding-jobs.ts'),
        import('../embedding-providers.ts'),
        import('../job-layers.ts'),
        layersOf(parts),
      ]);
    const family = await jobFamilyOf(parts, layers, embeddingJobs);
    const bodyLimits = { startEmbeddingJob: payloadLimitOf(parts) };
    return { handlers: embeddingsHandlers(family, embeddingProvidersOf(settings)), extra: [], bodyLimits };
  },
};

async function layersOf(parts: LayerParts) {
  const [{ jobLayersOf }, { embeddingPartsOf }, { patienceOf }] = await Promise.all([
    import('../job-layers.ts'),
    import('../embedding-parts.ts'),
    import('../patience.ts'),
  ]);
  return { ...jobLayersOf(parts), embeddings: embeddingPartsOf(parts), patience: patienceOf(parts) };
}
