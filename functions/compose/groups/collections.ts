import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 460_000,
  async collections() {
    const { spaceCollections } = await import('../../collections/store-collections.ts');
    const { upkeepCollections } = await import('../../collections/upkeep-collections.ts');
    return [...spaceCollections, ...upkeepCollections];
  },
  async jobs(parts) {
    const [{ collectionJobs }, { collectionJobsPartsOf }] = await Promise.all([
      import('../../groups/collections/collection-jobs.ts'),
      import('../record-jobs.ts'),
    ]);
    return [collectionJobs(collectionJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings, store, world } = parts;
    const [
      { collectionsHandlers },
      { recordPartsOf },
      { collectionJobs },
      { collectionJobsPartsOf, payloadLimitOf, recordJobDependenciesOf },
    ] = await Promise.all([
      import('../../groups/collections/handlers.ts'),
      import('../record-parts.ts'),
      import('../../groups/collections/collection-jobs.ts'),
      import('../record-jobs.ts'),
    ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { importCollection: limit, startCollectionImportJob: limit };
    const own = {
      store: store.get,
      world,
      records: recordPartsOf(parts),
      access: recordAccessOf(settings),
      recordJobs: await recordJobDependenciesOf(parts),
      collectionJobs: collectionJobs(collectionJobsPartsOf(parts)),
      pageTokens: pageTokensOf(parts),
    };
    return { handlers: collectionsHandlers(own), extra: [], bodyLimits };
  },
};
