import { PageTokens } from '../../kernel/page-token.ts';
import { sharedSecret } from '../../store/secret.ts';
import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 650_000,
  async jobs(parts) {
    const [{ graphJobs }, { graphJobsPartsOf }] = await Promise.all([
      import('../../groups/graph/jobs/graph-jobs.ts'),
      import('../graph-jobs.ts'),
    ]);
    return [graphJobs(graphJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings, store, world } = parts;
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
      records: recordPartsOf({ settings, store, world }),
      access: recordAccessOf(settings),
      graphJobs: await graphJobDependenciesOf(parts),
      pageTokens: new PageTokens(sharedSecret(store.get, world.random, 'page-tokens')),
    };
    return { handlers: graphHandlers(own), extra: [], bodyLimits };
  },
};
