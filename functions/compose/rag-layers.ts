import { limits } from '../../contracts/generated/limits.ts';
import { records as recordSettings } from '../config/settings/records.ts';
import type { RagLayers } from '../groups/rag/jobs/job-view.ts';
import { rerankAccessOf } from './identity.ts';
import { jobLayersOf, stagedPayloadsOf } from './job-layers.ts';
import { layer } from './layer.ts';
import { patienceOf } from './patience.ts';
import { retrievalPartsOf } from './retrieval-parts.ts';

/** The staged payloads that one space may have at a time, as a multiple of the largest payload. */
const STAGED_PAYLOADS_MAX = 8;

/** The layers of the group rag, in every process of a deployment. */
export const ragLayersOf = layer((parts): RagLayers => {
  const { importPayloadBytesMax } = parts.settings.records;
  const retrieval = retrievalPartsOf(parts);
  // A document of the largest length fits in any script, also where the deployment imports fewer records at once.
  const payloadBytesMax = Math.max(importPayloadBytesMax, limits.ragPayloadBytesMax);
  const payloads = stagedPayloadsOf(parts, {
    payloadBytesMax,
    spaceBytesMax: STAGED_PAYLOADS_MAX * payloadBytesMax,
    // A smaller setting has no effect, so the refusal does not name it.
    setting: importPayloadBytesMax < payloadBytesMax ? null : recordSettings.importPayloadBytesMax.key,
  });
  const { embeddings, traces } = retrieval;
  const rerankAccess = rerankAccessOf(parts.settings);
  const patience = patienceOf(parts);
  return { ...jobLayersOf(parts), payloads, embeddings, traces, retrieval, rerankAccess, patience };
});
