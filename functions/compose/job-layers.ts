import { type StagedBounds, StagedPayloads } from '../collections/staged-payloads.ts';
import { records as recordSettings } from '../config/settings/records.ts';
import type { JobLayers } from '../jobs/job-family.ts';
import { processBlobsOf } from './blobs.ts';
import type { BodyLimit } from './group.ts';
import { recordAccessOf } from './identity.ts';
import { type LayerParts, layer } from './layer.ts';
import { recordPartsOf } from './record-parts.ts';

/** The staged payloads that one space may have at a time, as a multiple of the largest payload. */
const STAGED_PAYLOADS_MAX = 32;

/** The layers that jobs work with, in every process of a deployment. */
export const jobLayersOf = layer((parts): JobLayers => {
  const { settings } = parts;
  const { importPayloadBytesMax: payloadBytesMax } = settings.records;
  return {
    records: recordPartsOf(parts),
    payloads: stagedPayloadsOf(parts, {
      payloadBytesMax,
      spaceBytesMax: STAGED_PAYLOADS_MAX * payloadBytesMax,
      setting: recordSettings.importPayloadBytesMax.key,
    }),
    access: recordAccessOf(settings),
    resultBytesMax: settings.execution.maxResultBytes,
  };
});

export function stagedPayloadsOf(parts: LayerParts, bounds: StagedBounds): StagedPayloads {
  return new StagedPayloads(parts.store.get, parts.world, processBlobsOf(parts), bounds);
}

/** The largest request that becomes a job. */
export function payloadLimitOf({ settings }: Pick<LayerParts, 'settings'>): BodyLimit {
  return { bytes: settings.records.importPayloadBytesMax, setting: recordSettings.importPayloadBytesMax.key };
}
