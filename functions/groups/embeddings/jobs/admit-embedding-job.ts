import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Embedder } from '../../../embeddings/embedder.ts';
import { type EmbeddingRequest, readEmbeddingRequest } from '../../../embeddings/rules/request.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import { requestPayload } from '../../records/library/staged-payload.ts';
import { tagsOf } from './job-facts.ts';
import { EMBEDDING_HANDLER } from './job-parts.ts';

/** What the operations that admit and show embedding jobs work with. */
export interface EmbeddingJobDependencies {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** The model of the settings. */
  readonly embedder: Embedder;
}

export interface EmbeddingJobRequest {
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly body: EmbeddingRequest;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/**
 * Admits a job that embeds texts. A request that is too large for a run is staged. Throws `permission_denied` before it judges
 * the request, `validation_failed` or `limit_exceeded` for what a call without a job refuses too, and what `admitJob` throws.
 */
export async function admitEmbeddingJob(
  { jobs, plugin, payloads, access, embedder }: EmbeddingJobDependencies,
  { caller, query, body, idempotencyKey, correlationId }: EmbeddingJobRequest,
): Promise<AdmittedJob> {
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const { purpose, texts } = readEmbeddingRequest(body);
  const { provider, modelId, dimensions } = embedder;
  return admitJob(jobs, plugin, {
    operationId: 'startEmbeddingJob',
    handlerId: EMBEDDING_HANDLER,
    caller,
    scope: jobScope(query, access.ownerOf(caller), caller.principal),
    space,
    ...requestPayload(payloads, space, body, 'Durable embedding payload'),
    requested: texts.length,
    idempotencyKey,
    correlationId,
    tags: tagsOf({ provider, modelId, dimensions, purpose }),
  });
}
