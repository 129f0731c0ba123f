import { boundTo } from '../../../collections/bound-collections.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import { INLINE_BYTES_MAX, type StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { ExecutionAccess } from '../../../identity/execution-access.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import { compactJson } from '../../../kernel/json-slices.ts';
import type { RunScope } from '../../../runs/run.ts';
import { BATCH_HANDLER, IMPORT_HANDLER } from './record-job-parts.ts';
import { stageText } from './staged-payload.ts';

/** What the operations that admit and show jobs of records work with. */
export interface RecordJobDependencies {
  readonly records: RecordParts;
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** `null` without policies of the execution runtime. */
  readonly executionAccess: ExecutionAccess | null;
}

/** Who starts which job. */
export interface RecordJobStart {
  readonly kind: 'batch_upsert' | 'collection_import';
  readonly caller: Caller;
  readonly query: ProductTenant;
  /** Whether the catalog asks for the right to start runs as well. */
  readonly startsAsRun: boolean;
}

export interface RecordJobRequest extends RecordJobStart {
  readonly operationId: string;
  readonly collection: string;
  /** The compact JSON text of the request. */
  readonly text: string;
  readonly requested: number;
  readonly sourceCollection?: string;
  /** Of the content of an import, so that its handler does not make it again. */
  readonly contentHash?: string;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/** Text of a request whose members have no white space between them; refuses one that is too large for a job. */
export function requestText(payloads: StagedPayloads, text: string, what = 'record import'): string {
  const compact = compactJson(text);
  const { payloadBytesMax } = payloads;
  if (Buffer.byteLength(compact) <= payloadBytesMax) return compact;
  const detail = `Durable ${what} payload cannot exceed ${payloadBytesMax} bytes`;
  throw invalidMember('', detail, 'limit_exceeded');
}

/**
 * Throws `permission_denied` where the caller may not start the job. Handlers call it before they check the content: a
 * caller without the right learns nothing from those checks.
 */
export function authorizeRecordJob(
  { access, executionAccess }: RecordJobDependencies,
  { caller, query, kind, startsAsRun }: RecordJobStart,
): { readonly space: string; readonly scope: RunScope | null; readonly handlerId: string } {
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const scope = jobScope(query, access.ownerOf(caller), caller.principal);
  const handlerId = kind === 'batch_upsert' ? BATCH_HANDLER : IMPORT_HANDLER;
  if (startsAsRun && executionAccess !== null)
    executionAccess.authorizeStart(verifiedCaller(caller), scope, handlerId);
  return { space, scope, handlerId };
}

/** Admits a batch or an import. A text that is too large for a run is staged. */
export async function admitRecordJob(
  dependencies: RecordJobDependencies,
  request: RecordJobRequest,
): Promise<AdmittedJob> {
  const { records, jobs, plugin, payloads } = dependencies;
  const { caller, collection, text, sourceCollection, contentHash } = request;
  const known = { collection, ...(contentHash === undefined ? {} : { contentHash }) };
  const { space, scope, handlerId } = authorizeRecordJob(dependencies, request);
  const isLarge = Buffer.byteLength(text) > INLINE_BYTES_MAX;
  return admitJob(jobs, plugin, {
    operationId: request.operationId,
    handlerId,
    caller,
    scope,
    space,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    payload: isLarge ? known : { ...known, request: text },
    payloadHash: sha256(`{"collection":${JSON.stringify(collection)},"request":${text}}`),
    ...(isLarge ? { stage: () => stageText(payloads, space, known, text) } : {}),
    requested: request.requested,
    idempotencyKey: scopedKey(request.idempotencyKey, scope, handlerId),
    correlationId: request.correlationId,
    tags: {
      'svc.record-import.kind': request.kind,
      'svc.collection': collection,
      ...(sourceCollection === undefined ? {} : { [SOURCE_TAG]: sourceCollection }),
    },
  });
}

export const SOURCE_TAG = 'svc.record-import.source-collection';

/** The contract binds the key of a job with a product and tenant to them and to the handler. */
function scopedKey(key: string | null, scope: RunScope | null, handlerId: string): string | null {
  if (key === null || scope === null) return key;
  const { productId, tenantId } = scope;
  return `scope:${sha256([productId, tenantId, handlerId, key].join('\n')).slice('sha256:'.length)}`;
}

export function verifiedCaller(caller: Caller): Caller & { readonly principal: string } {
  const { principal } = caller;
  if (principal === null) throw new ServiceError('unauthenticated', 'The caller is not known');
  return { ...caller, principal };
}
