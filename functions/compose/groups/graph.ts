import type { GroupModule } from '../group.ts';
import { jobFamilyOf } from '../job-family.ts';

export const group: GroupModule = {
  bytesMax: 678_000,
  async jobs(parts) {
    const [{ graphJobs }, { jobLayersOf }] = await Promise.all([
      import('../../groups/graph/jobs/graph-jobs.ts'),
      import('../job-layers.ts'),
    ]);
    return [graphJobs(jobLayersOf(parts))];
  },
  async load(parts) {
    const [{ graphHandlers }, { graphJobs }, { jobLayersOf, payloadLimitOf }] = await Promise.all([
      import('../../groups/graph/handlers.ts'),
      import('../../groups/graph/jobs/graph-jobs.ts'),
      import('../job-layers.ts'),
    ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = {
      importGraphEnvelope: limit,
      startGraphImportJob: limit,
      preflightGraphImport: limit,
    };
    const family = await jobFamilyOf(parts, jobLayersOf(parts), graphJobs);
    return { handlers: graphHandlers(family), extra: [], bodyLimits };
  },
};
