import { hash } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { StartRequest } from './rules/start.ts';
import type { Run } from './run.ts';

const VERSION = 'svc.admission.v1' as const;

/** The receipt of a run's admission, the same after every restart: nothing in it is stored beside the run. */
export function admissionOf(run: Run, replayed: boolean) {
  const rejected = run.status === 'rejected';
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
    statusUri: statusUri(run.id),
    resultUri: null,
    failureClass: rejected ? run.failureClass : null,
    error: rejected ? run.error : null,
  };
}

export function admissionId(operationId: string, resourceId: string): string {
  return `adm_${hash('sha256', `${VERSION}\n${operationId}\n${resourceId}`, 'hex')}`;
}

export function statusUri(runId: string): string {
  return `/execution/runs/${runId}`;
}

const FULL = 'As many runs are active as may be';

/** Nothing was stored and the key was not taken: the same request may be sent again. */
export function queueFull(request: StartRequest, runId: string, now: number): ServiceError {
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
    statusUri: statusUri(runId),
    resultUri: null,
    failureClass: 'queue_full',
    error: FULL,
  };
  return new ServiceError('queue_full', FULL, { admission, retryAfterSeconds: 1 });
}

/** What a rejected run is answered with; `null` for one that was accepted. */
export function rejectionProblem(run: Run, replayed: boolean): ServiceError | null {
  if (run.status !== 'rejected') return null;
  const admission = admissionOf(run, replayed);
  const detail = run.error ?? 'The run was rejected';
  switch (run.failureClass) {
    case 'handler_missing':
      return new ServiceError('handler_missing', detail, { admission });
    case 'plugin_mismatch':
      return new ServiceError('plugin_mismatch', detail, { admission });
    case 'platform':
      return new ServiceError('handler_not_routed', detail, { admission });
    default:
      return new ServiceError('admission_rejected', detail, { admission });
  }
}
