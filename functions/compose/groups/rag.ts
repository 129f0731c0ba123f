import type { GroupModule } from '../group.ts';
import { jobFamilyOf } from '../job-family.ts';

export const group: GroupModule = {
  bytesMax: 997_000,
  async jobs(parts) {
    const [{ ragJobs }, { ragLayersOf }] = await Promise.all([
      import('../../groups/rag/jobs/rag-jobs.ts'),
      import('../rag-layers.ts'),
    ]);
    return [ragJobs(ragLayersOf(parts))];
  },
  async load(parts) {
    const [{ ragHandlers }, { ragJobs }, { ragLayersOf }] = await Promise.all([
      import('../../groups/rag/handlers.ts'),
      import('../../groups/rag/jobs/rag-jobs.ts'),
      import('../rag-layers.ts'),
    ]);
    const family = await jobFamilyOf(parts, ragLayersOf(parts), ragJobs);
    return { handlers: ragHandlers(family), extra: [] };
  },
};
