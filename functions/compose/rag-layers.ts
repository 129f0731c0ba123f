import { limits } from '../../contracts/generated/limits.ts';
import { StagedPayloads } from '../collections/staged-payloads.ts';
import { records as recordSettings } from '../config/settings/records.ts';
import type { RagLayers } from '../groups/rag/jobs/job-facts.ts';
import { processBlobsOf } from './blobs.ts';
import { recordAccessOf, rerankAccessOf } from './identity.ts';
import { layer } from './layer.ts';
import { retrievalPartsOf } from './retrieval-parts.ts';

/** What one space may have staged at a time, as a multiple of the largest payload. */
const STAGED_PAYLOADS_MAX = 8;

/** The layers of the group rag, in every process of a deployment. */
export const ragLayersOf = layer((parts): RagLayers => {
  const { settings, store, world } = parts;
  const retrieval = retrievalPartsOf(parts);
  const { records, embeddings, traces } = retrieval;
  // A document of the largest length fits in any script, whatever records the deployment imports at once.
  const payloadBytesMax = Math.max(settings.records.importPayloadBytesMax, limits.ragPayloadBytesMax);
  const payloads = new StagedPayloads({
    store: store.get,
    world,
    blobs: processBlobsOf(parts),
    payloadBytesMax,
    spaceBytesMax: STAGED_PAYLOADS_MAX * payloadBytesMax,
    // A smaller setting decides nothing.
    setting:
      settings.records.importPayloadBytesMax < payloadBytesMax
        ? null
        : recordSettings.importPayloadBytesMax.key,
  });
  return {
    records,
    embeddings,
    traces,
    retrieval,
    payloads,
    access: recordAccessOf(settings),
    rerankAccess: rerankAccessOf(settings),
    resultBytesMax: settings.execution.maxResultBytes,
  };
});
