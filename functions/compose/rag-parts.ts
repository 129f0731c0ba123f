import { limits } from '../../contracts/generated/limits.ts';
import { StagedPayloads } from '../collections/staged-payloads.ts';
import { records as recordSettings } from '../config/settings/records.ts';
import type { RagJobDependencies } from '../groups/rag/jobs/admit-rag-job.ts';
import type { RagJobsParts } from '../groups/rag/jobs/job-parts.ts';
import { ragJobs } from '../groups/rag/jobs/rag-jobs.ts';
import { processBlobsOf } from './blobs.ts';
import type { GroupParts } from './group.ts';
import { recordAccessOf } from './identity.ts';
import { layer } from './layer.ts';
import { retrievalPartsOf } from './retrieval-parts.ts';

/** What one space may have staged at a time, as a multiple of the largest payload. */
const STAGED_PAYLOADS_MAX = 8;

/** What the jobs that ingest documents work with, in every process of a deployment. */
export const ragJobsPartsOf = layer((parts): RagJobsParts => {
  const { settings, store, world } = parts;
  const { records, embeddings, traces } = retrievalPartsOf(parts);
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
  const access = recordAccessOf(settings);
  const resultBytesMax = settings.execution.maxResultBytes;
  return { records, embeddings, traces, payloads, access, resultBytesMax };
});

/** What the operations admit and show these jobs with. */
export async function ragJobDependenciesOf(parts: GroupParts): Promise<RagJobDependencies> {
  const own = ragJobsPartsOf(parts);
  const { jobs } = await parts.execution.get();
  const { records, payloads, access } = own;
  return { records, jobs, plugin: ragJobs(own), payloads, access };
}
