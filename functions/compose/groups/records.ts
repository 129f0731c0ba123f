import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 396_000,
  async jobs(parts) {
    const [{ recordJobs }, { recordJobsPartsOf }] = await Promise.all([
      import('../../groups/records/library/record-jobs.ts'),
      import('../record-jobs.ts'),
    ]);
    return [recordJobs(recordJobsPartsOf(parts))];
  },
  async load(parts) {
    const { settings, store, world } = parts;
    const [{ recordsHandlers }, { recordPartsOf }, { payloadLimitOf, recordJobDependenciesOf }] =
      await Promise.all([
        import('../../groups/records/handlers.ts'),
        import('../record-parts.ts'),
        import('../record-jobs.ts'),
      ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { upsertRecords: limit, startRecordBatchUpsertJob: limit };
    const own = {
      store: store.get,
      world,
      records: recordPartsOf(parts),
      access: recordAccessOf(settings),
      recordJobs: await recordJobDependenciesOf(parts),
    };
    return { handlers: recordsHandlers(own), extra: [], bodyLimits };
  },
};
