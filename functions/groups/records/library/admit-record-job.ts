import { boundTo } from '../../../collections/bound-collections.ts';
import { verifiedCaller } from '../../../identity/verified-caller.ts';
import { type AdmittedJob, admitJob, type JobRequest } from '../../../jobs/admit-job.ts';
import { type JobCall, ownerOf } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import type { Turns } from '../../../kernel/turns.ts';
import type { RunScope } from '../../../runs/run.ts';
import { BATCH_HANDLER, IMPORT_HANDLER, type RecordJobs, SOURCE_TAG } from './job-facts.ts';

/** Who starts which job. */
export interface RecordJobStart extends Pick<JobCall, 'caller' | 'query'> {
  readonly kind: 'batch_upsert' | 'collection_import';
  /** Whether the catalog asks for the right to start runs as well. */
  readonly startsAsRun: boolean;
}

export interface RecordJobRequest extends RecordJobStart, JobCall {
  readonly operationId: string;
  readonly collection: string;
  /** The compact JSON text of the request. */
  readonly text: string;
  readonly requested: number;
  readonly sourceCollection?: string;
  /** Of the content of an import, so that its handler does not make it again. */
  readonly contentHash?: string;
}

/** Text of a request whose members have no white space between them; refuses one that is too large for a job. */
export function recordText({ payloads }: RecordJobs, text: string, turns: Turns): Promise<string> {
  return requestText(payloads, text, 'record import', turns);
}

/**
 * Throws `permission_denied` where the caller may not start the job. Handlers call it before they check the content: a
 * caller without the right learns nothing from those checks.
 */
export function authorizeRecordJob(
  { access, executionAccess }: RecordJobs,
  { caller, query, kind, startsAsRun }: RecordJobStart,
): Pick<JobRequest, 'caller' | 'scope' | 'space' | 'handlerId'> {
  const owner = ownerOf(access, { caller, query }, access.spaceOf(caller, 'write', query.tenantId));
  const handlerId = kind === 'batch_upsert' ? BATCH_HANDLER : IMPORT_HANDLER;
  if (startsAsRun && executionAccess !== null)
    executionAccess.authorizeStart(verifiedCaller(caller), owner.scope, handlerId);
  return { ...owner, handlerId };
}

/** Admits a batch or an import. A text that is too large for a run is staged. */
export async function admitRecordJob(own: RecordJobs, request: RecordJobRequest): Promise<AdmittedJob> {
  const { records, jobs, plugin, payloads } = own;
  const { collection, text, sourceCollection, contentHash } = request;
  const known = { collection, ...(contentHash === undefined ? {} : { contentHash }) };
  const { scope, space, handlerId, caller } = authorizeRecordJob(own, request);
  return admitJob(jobs, plugin, {
    operationId: request.operationId,
    handlerId,
    caller,
    scope,
    space,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    ...(await textPayload(payloads, space, known, text)),
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

/** The contract binds the key of a job with a product and tenant to them and to the handler. */
function scopedKey(key: string | null, scope: RunScope | null, handlerId: string): string | null {
  if (key === null || scope === null) return key;
  const { productId, tenantId } = scope;
  return `scope:${sha256([productId, tenantId, handlerId, key].join('\n')).slice('sha256:'.length)}`;
}
