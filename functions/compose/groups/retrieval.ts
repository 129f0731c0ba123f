import type { GroupModule } from '../group.ts';
import { rerankAccessOf } from '../identity.ts';
import { jobFamilyOf } from '../job-family.ts';
import type { LayerParts } from '../layer.ts';

export const group: GroupModule = {
  bytesMax: 732_000,
  async jobs(parts) {
    const [{ retrievalJobs }, layers] = await Promise.all([
      import('../../groups/retrieval/jobs/retrieval-jobs.ts'),
      layersOf(parts),
    ]);
    return [retrievalJobs(layers)];
  },
  async load(parts) {
    const [{ retrievalHandlers }, { retrievalJobs }, { payloadLimitOf }, { evaluationLanesOf }, layers] =
      await Promise.all([
        import('../../groups/retrieval/handlers.ts'),
        import('../../groups/retrieval/jobs/retrieval-jobs.ts'),
        import('../job-layers.ts'),
        import('../read-lanes.ts'),
        layersOf(parts),
      ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { startRetrievalEvaluationJob: limit, startRetrievalEvaluationComparisonJob: limit };
    const family = await jobFamilyOf(parts, layers, retrievalJobs);
    return { handlers: retrievalHandlers(family, evaluationLanesOf(parts)), extra: [], bodyLimits };
  },
};

async function layersOf(parts: LayerParts) {
  const [{ jobLayersOf }, { retrievalPartsOf }, { patienceOf }] = await Promise.all([
    import('../job-layers.ts'),
    import('../retrieval-parts.ts'),
    import('../patience.ts'),
  ]);
  const rerankAccess = rerankAccessOf(parts.settings);
  const patience = patienceOf(parts);
  return { ...jobLayersOf(parts), retrieval: retrievalPartsOf(parts), rerankAccess, patience };
}
