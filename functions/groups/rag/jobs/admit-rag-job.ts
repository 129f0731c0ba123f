import { boundTo } from '../../../collections/bound-collections.ts';
import { type AdmittedJob, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, ownerOf } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import { checkBatch, checkIngestRequest, type IngestRequest } from '../../../rag/rules/ingest-request.ts';
import { BATCH_HANDLER, TEXT_HANDLER } from './job-facts.ts';

export interface RagJobRequest extends JobCall {
  readonly operationId: string;
  readonly collection: string;
  /** The JSON text of the request. */
  readonly text: string;
}

/** A request as its schema has accepted it. */
export type RagJobBody =
  | { readonly kind: 'text'; readonly document: IngestRequest }
  | { readonly kind: 'batch'; readonly items: readonly IngestRequest[] };

/**
 * Admits a job that ingests documents. A request that is too large for a run is staged. Throws `permission_denied` before it judges
 * the request, `validation_failed` or `limit_exceeded` for what no collection could take, and what `admitJob` throws.
 */
export async function admitRagJob(
  { records, jobs, plugin, payloads, access }: JobFamily,
  request: RagJobRequest,
  body: RagJobBody,
): Promise<AdmittedJob> {
  const { caller, query, collection } = request;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const documents = body.kind === 'text' ? [body.document] : body.items;
  if (documents.some(({ options }) => removesRecords(options)))
    access.spaceOf(caller, 'delete', query.tenantId);
  if (body.kind === 'text') checkIngestRequest(body.document);
  else checkBatch(body.items);
  const text = await requestText(payloads, request.text, 'ingestion', records.world.turns.of(space));
  return admitJob(jobs, plugin, {
    ...ownerOf(access, request, space),
    operationId: request.operationId,
    handlerId: body.kind === 'text' ? TEXT_HANDLER : BATCH_HANDLER,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    ...(await textPayload(payloads, space, { collection }, text)),
    requested: documents.length,
    idempotencyKey: request.idempotencyKey,
    correlationId: request.correlationId,
    tags: { 'svc.rag.kind': body.kind, 'svc.collection': collection },
  });
}

/** Chunks that a document has lost are removed, which needs the right to delete; a dry run removes nothing. */
export function removesRecords(options: IngestRequest['options']): boolean {
  return options?.replaceDocumentChunks === true && options.dryRun !== true;
}
