import type { ExecutionRun } from '../../contracts/generated/models.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { elapsedMs, formatUtc } from '../kernel/timestamp.ts';
import { admissionOf } from './admission.ts';
import type { Run } from './run.ts';

/** The run in the form of the models, for answers and for handlers in this process. The order of its members is that of answers. */
export function runModel(run: Run, payload: Json, result: Json, replayed: boolean): ExecutionRun {
  return {
    admission: admissionOf(run, replayed),
    id: run.id,
    handlerId: run.handlerId,
    pluginId: run.pluginId,
    status: run.status,
    attempt: run.attempt,
    maxAttempts: run.retryPolicy.maxAttempts,
    failures: run.failures,
    handlerVersion: run.handlerVersion ?? null,
    retryPolicy: run.retryPolicy,
    correlationId: run.correlationId,
    scope: run.scope,
    payloadHash: run.payloadHash,
    payload,
    createdAtUtc: formatUtc(run.createdAt),
    scheduledAtUtc: moment(run.scheduledAt),
    startedAtUtc: moment(run.startedAt),
    updatedAtUtc: formatUtc(run.updatedAt),
    completedAtUtc: moment(run.completedAt),
    durationMs:
      run.completedAt === null ? null : elapsedMs(run.startedAt ?? run.completedAt, run.completedAt),
    cancellationRequested: run.cancellationRequested,
    requested: run.requested,
    attempted: run.attempted,
    succeeded: run.succeeded,
    failed: run.failed,
    progress: run.progress,
    currentStep: run.currentStep,
    failureClass: run.failureClass,
    error: run.error,
    result,
    statusDetails: run.statusDetails,
    tags: run.tags,
    ...(run.parentId === undefined ? {} : { parentRunId: run.parentId }),
    ...(run.startKey === undefined ? {} : { concurrencyKey: run.startKey }),
    ...(run.firstCheckpoints === undefined ? {} : { firstCheckpoints: run.firstCheckpoints }),
  };
}

function moment(at: number | null): string | null {
  return at === null ? null : formatUtc(at);
}
