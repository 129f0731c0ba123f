import { StagedPayloads } from '../collections/staged-payloads.ts';
import { records as recordSettings } from '../config/settings/records.ts';
import type { CollectionJobsParts } from '../groups/collections/collection-jobs.ts';
import type { RecordJobDependencies } from '../groups/records/library/admit-record-job.ts';
import type { RecordJobsParts } from '../groups/records/library/record-job-parts.ts';
import { recordJobs } from '../groups/records/library/record-jobs.ts';
import { processBlobsOf } from './blobs.ts';
import type { BodyLimit, GroupParts } from './group.ts';
import { executionAccessOf, recordAccessOf } from './identity.ts';
import { type LayerParts, layer } from './layer.ts';
import { recordPartsOf } from './record-parts.ts';

/** What one space may have staged at a time, as a multiple of the largest payload. */
const STAGED_PAYLOADS_MAX = 32;

/** What the jobs that write records work with, in every process of a deployment. */
export const recordJobsPartsOf = layer((parts): RecordJobsParts => {
  const { settings, store, world } = parts;
  const { importPayloadBytesMax: payloadBytesMax } = settings.records;
  return {
    records: recordPartsOf(parts),
    payloads: new StagedPayloads({
      store: store.get,
      world,
      blobs: processBlobsOf(parts),
      payloadBytesMax,
      spaceBytesMax: STAGED_PAYLOADS_MAX * payloadBytesMax,
      setting: recordSettings.importPayloadBytesMax.key,
    }),
    access: recordAccessOf(settings),
    resultBytesMax: settings.execution.maxResultBytes,
  };
});

export function collectionJobsPartsOf(parts: LayerParts): CollectionJobsParts {
  return { records: recordPartsOf(parts), access: recordAccessOf(parts.settings) };
}

/** The largest request that becomes a job. */
export function payloadLimitOf({ settings }: Pick<LayerParts, 'settings'>): BodyLimit {
  return { bytes: settings.records.importPayloadBytesMax, setting: recordSettings.importPayloadBytesMax.key };
}

/** What the operations admit and show these jobs with. */
export async function recordJobDependenciesOf(parts: GroupParts): Promise<RecordJobDependencies> {
  const own = recordJobsPartsOf(parts);
  const { jobs } = await parts.execution.get();
  const { records, payloads, access } = own;
  const executionAccess = executionAccessOf(parts.settings);
  return { records, jobs, plugin: recordJobs(own), payloads, access, executionAccess };
}
