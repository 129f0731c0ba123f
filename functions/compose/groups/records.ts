import type { GroupModule } from '../group.ts';
import { executionAccessOf } from '../identity.ts';
import { jobFamilyOf } from '../job-family.ts';

export const group: GroupModule = {
  bytesMax: 441_000,
  async jobs(parts) {
    const [{ recordJobs }, { jobLayersOf }] = await Promise.all([
      import('../../groups/records/library/record-jobs.ts'),
      import('../job-layers.ts'),
    ]);
    return [recordJobs(jobLayersOf(parts))];
  },
  async load(parts) {
    const [{ recordsHandlers }, { recordJobs }, { jobLayersOf, payloadLimitOf }] = await Promise.all([
      import('../../groups/records/handlers.ts'),
      import('../../groups/records/library/record-jobs.ts'),
      import('../job-layers.ts'),
    ]);
    const limit = payloadLimitOf(parts);
    const bodyLimits = { upsertRecords: limit, startRecordBatchUpsertJob: limit };
    const family = await jobFamilyOf(parts, jobLayersOf(parts), recordJobs);
    const own = { ...family, executionAccess: executionAccessOf(parts.settings) };
    return { handlers: recordsHandlers(own), extra: [], bodyLimits };
  },
};
