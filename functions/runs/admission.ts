import { hash } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import type { Full } from '../kernel/full.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { StartRequest } from './rules/start.ts';
import type { Run } from './run.ts';
import type { RunJob } from './run-job.ts';

const VERSION = 'svc.admission.v1' as const;

/** The receipt of a run's admission. It is computed from the run, so it is the same after every restart. */
export function admissionOf(run: Run, replayed: boolean) {
  const rejected = isRejectedAtAdmission(run);
  return {
    version: VERSION,
    admissionId: admissionId(run.operationId, run.id),
    operationId: run.operationId,
    status: rejected ? ('rejected' as const) : ('accepted' as const),
    resourceId: run.id,
    requestHash: run.payloadHash,
    idempotencyKeyHash: run.keyHash,
    replayed,
    admittedAtUtc: formatUtc(run.createdAt),
    statusUri: statusUri(run.id, run.job),
    resultUri: null,
    failureClass: rejected ? run.failureClass : null,
    error: rejected ? run.error : null,
  };
}

/** A job that its own handler rejected was accepted before: its receipt, and the answer to its key, do not change with that. */
function isRejectedAtAdmission({ status, job, startedAt }: Run): boolean {
  return status === 'rejected' && (job === undefined || startedAt === null);
}

/** @testonly */
export function admissionId(operationId: string, resourceId: string): string {
  return `adm_${hash('sha256', `${VERSION}\n${operationId}\n${resourceId}`, 'hex')}`;
}

/** The path at which the caller reads the admitted resource: a job has views in its group. */
export function statusUri(runId: string, job?: RunJob): string {
  return `${job?.statusPath ?? '/execution/runs'}/${runId}`;
}

/** Nothing was stored and the idempotency key is free, so the caller may send the same request again. */
export function queueFull(
  request: StartRequest,
  runId: string,
  now: number,
  { detail, limit, used, setting }: Full,
): ServiceError {
  const key = request.idempotencyKey;
  const admission = {
    version: VERSION,
    admissionId: admissionId(request.operationId, runId),
    operationId: request.operationId,
    status: 'rejected',
    resourceId: runId,
    requestHash: request.payloadHash,
    idempotencyKeyHash: key === null ? null : hash('sha256', key, 'hex'),
    replayed: false,
    admittedAtUtc: formatUtc(now),
    statusUri: statusUri(runId, request.job),
    resultUri: null,
    failureClass: 'queue_full',
    error: detail,
  };
  return new ServiceError('queue_full', detail, {
    admission,
    limit,
    used,
    ...(setting === null ? {} : { setting }),
    retryAfterSeconds: 1,
  });
}

/** Advice for the caller of a rejected start. Only the answer holds it, since other callers read the run. */
export interface StartAdvice {
  /** The handlers that the caller may start; `null` where none are named. */
  readonly startable?: (() => readonly string[] | null) | undefined;
  /** How the service gets a missing handler. */
  readonly remedy?: string;
}

/** The problem that answers a rejected start; `null` for an accepted run. */
export function rejectionProblem(
  run: Run,
  replayed: boolean,
  { startable = () => null, remedy = '' }: StartAdvice = {},
): ServiceError | null {
  if (!isRejectedAtAdmission(run)) return null;
  const admission = admissionOf(run, replayed);
  const detail = run.error ?? 'The run was rejected';
  switch (run.failureClass) {
    case 'handler_missing':
      return new ServiceError('handler_missing', detail + adviceOf(startable(), remedy), { admission });
    case 'plugin_mismatch':
      return new ServiceError('plugin_mismatch', detail, { admission });
    case 'platform':
      return new ServiceError('handler_not_routed', detail, { admission });
    default:
      return new ServiceError('admission_rejected', detail, { admission });
  }
}

/** Handlers that a message names; a deployment may have hundreds. */
const NAMED_MAX = 20;

function adviceOf(startable: readonly string[] | null, remedy: string): string {
  if (startable === null) return '';
  const how = remedy === '' ? '' : `: ${remedy}`;
  const advice = `. The same request starts a run once the service has the handler${how}.`;
  if (startable.length === 0) return `${advice} It has no handler that you may start here`;
  const named = startable.slice(0, NAMED_MAX).join(', ');
  const more = startable.length > NAMED_MAX ? ` and ${startable.length - NAMED_MAX} more` : '';
  return `${advice} You may start: ${named}${more}`;
}
