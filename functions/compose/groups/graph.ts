import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 655_000,
  async jobs(parts) {
    const [{ graphJobs }, { graphJobsPartsOf }] = await Promise.all([
      import('../../groups/graph/jobs/graph-jobs.ts'),
      import('../graph-jobs.ts'),
    ]);
    return [graphJobs(graphJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings } = parts;
    const [{ graphHandlers }, { recordPartsOf }, { graphJobDependenciesOf }, { payloadLimitOf }] =
      await Promise.all([
        import('../../groups/graph/handlers.ts'),
        import('../record-parts.ts'),
        import('../graph-jobs.ts'),
        import('../record-jobs.ts'),
      ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = {
      importGraphEnvelope: limit,
      startGraphImportJob: limit,
      preflightGraphImport: limit,
    };
    const own = {
      records: recordPartsOf(parts),
      access: recordAccessOf(settings),
      graphJobs: await graphJobDependenciesOf(parts),
      pageTokens: pageTokensOf(parts),
    };
    return { handlers: graphHandlers(own), extra: [], bodyLimits };
  },
};
