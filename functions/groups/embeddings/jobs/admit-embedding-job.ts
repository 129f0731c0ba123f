import { type EmbeddingRequest, readEmbeddingRequest } from '../../../embeddings/rules/request.ts';
import type { GroupHandlers } from '../../../http/handler.ts';
import { type AdmittedJob, accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, jobCall, ofCall } from '../../../jobs/job-family.ts';
import { requestPayload } from '../../../jobs/staged-payload.ts';
import { EMBEDDING_HANDLER } from './embedding-jobs.ts';
import { type EmbeddingLayers, embeddingJobView, tagsOf } from './job-view.ts';

/**
 * Admits a job that embeds texts. Stages a request that is too large for a run. Throws `permission_denied` before it checks the
 * request, `validation_failed` or `limit_exceeded` as in a call without a job, and the errors of `admitJob`.
 * @testonly
 */
export async function admitEmbeddingJob(
  { jobs, plugin, payloads, access, embeddings: { embedder } }: JobFamily<EmbeddingLayers>,
  call: JobCall,
  body: EmbeddingRequest,
): Promise<AdmittedJob> {
  const space = access.spaceOf(call.caller, 'write', call.query.tenantId);
  const { purpose, texts } = readEmbeddingRequest(body);
  const { provider, modelId, dimensions } = embedder;
  return admitJob(jobs, plugin, {
    ...ofCall(access, call, space),
    operationId: 'startEmbeddingJob',
    handlerId: EMBEDDING_HANDLER,
    ...(await requestPayload(payloads, space, body, 'embedding', jobs.runtime.world.turns.of(space))),
    requested: texts.length,
    tags: tagsOf({ provider, modelId, dimensions, purpose }),
  });
}

export function startEmbeddingJob(
  family: JobFamily<EmbeddingLayers>,
): GroupHandlers<'embeddings'>['startEmbeddingJob'] {
  return async (input, context) =>
    accepted(await admitEmbeddingJob(family, jobCall(input, context), input.body), embeddingJobView);
}
