import type { GroupModule } from '../group.ts';
import { executionAccessOf } from '../identity.ts';
import { jobFamilyOf } from '../job-family.ts';

export const group: GroupModule = {
  bytesMax: 503_000,
  async collections() {
    const { spaceCollections } = await import('../../collections/store-collections.ts');
    const { upkeepCollections } = await import('../../collections/upkeep-collections.ts');
    return [...spaceCollections, ...upkeepCollections];
  },
  async jobs(parts) {
    const [{ collectionJobs }, { jobLayersOf }] = await Promise.all([
      import('../../groups/collections/collection-jobs.ts'),
      import('../job-layers.ts'),
    ]);
    return [collectionJobs(jobLayersOf(parts))];
  },
  async load(parts) {
    const [{ collectionsHandlers }, { collectionJobs }, { recordJobs }, { jobLayersOf, payloadLimitOf }] =
      await Promise.all([
        import('../../groups/collections/handlers.ts'),
        import('../../groups/collections/collection-jobs.ts'),
        import('../../groups/records/library/record-jobs.ts'),
        import('../job-layers.ts'),
      ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { importCollection: limit, startCollectionImportJob: limit };
    const layers = jobLayersOf(parts);
    const family = await jobFamilyOf(parts, layers, recordJobs);
    const own = { ...family, executionAccess: executionAccessOf(parts.settings) };
    return { handlers: collectionsHandlers(own, collectionJobs(layers)), extra: [], bodyLimits };
  },
};
