import { boundTo } from '../../../collections/bound-collections.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import { INLINE_BYTES_MAX, type StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import { compactJson } from '../../../kernel/json-slices.ts';
import { checkBatch, checkIngestRequest, type IngestRequest } from '../../../rag/rules/ingest-request.ts';
import { stageText } from '../../records/library/staged-payload.ts';
import { BATCH_HANDLER, TEXT_HANDLER } from './job-parts.ts';

/** What the operations that admit and show ingestion jobs work with. */
export interface RagJobDependencies {
  readonly records: RecordParts;
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
}

export interface RagJobRequest {
  readonly operationId: string;
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly collection: string;
  /** The JSON text of the request. */
  readonly text: string;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/** A request as its schema has accepted it. */
export type RagJobBody =
  | { readonly kind: 'text'; readonly document: IngestRequest }
  | { readonly kind: 'batch'; readonly items: readonly IngestRequest[] };

/**
 * Admits a job that ingests documents. A request that is too large for a run is staged. Throws `permission_denied` before it judges
 * the request, `validation_failed` or `limit_exceeded` for what no collection could take, and what `admitJob` throws.
 */
export function admitRagJob(
  { records, jobs, plugin, payloads, access }: RagJobDependencies,
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
  const text = requestText(payloads, request.text);
  const isLarge = Buffer.byteLength(text) > INLINE_BYTES_MAX;
  const known = { collection };
  return admitJob(jobs, plugin, {
    operationId: request.operationId,
    handlerId: body.kind === 'text' ? TEXT_HANDLER : BATCH_HANDLER,
    caller,
    scope: jobScope(query, access.ownerOf(caller), caller.principal),
    space,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    payload: isLarge ? known : { ...known, request: text },
    payloadHash: sha256(`{"collection":${JSON.stringify(collection)},"request":${text}}`),
    ...(isLarge ? { stage: () => stageText(payloads, space, known, text) } : {}),
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

function requestText({ payloadBytesMax }: StagedPayloads, given: string): string {
  const text = compactJson(given);
  if (Buffer.byteLength(text) <= payloadBytesMax) return text;
  const detail = `Durable ingestion payload cannot exceed ${payloadBytesMax} bytes`;
  throw invalidMember('', detail, 'limit_exceeded');
}
