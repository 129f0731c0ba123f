import type { GroupModule } from '../group.ts';
import { recordAccessOf, rerankAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 943_000,
  async jobs(parts) {
    const [{ ragJobs }, { ragJobsPartsOf }] = await Promise.all([
      import('../../groups/rag/jobs/rag-jobs.ts'),
      import('../rag-parts.ts'),
    ]);
    return [ragJobs(ragJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings } = parts;
    const [{ ragHandlers }, { ragJobDependenciesOf }, { retrievalPartsOf }] = await Promise.all([
      import('../../groups/rag/handlers.ts'),
      import('../rag-parts.ts'),
      import('../retrieval-parts.ts'),
    ]);
    const own = {
      retrieval: retrievalPartsOf(parts),
      ragJobs: await ragJobDependenciesOf(parts),
      access: recordAccessOf(settings),
      rerankAccess: rerankAccessOf(settings),
      pageTokens: pageTokensOf(parts),
    };
    return { handlers: ragHandlers(own), extra: [] };
  },
};
