import { backoffMs, isGivenUp } from './backoff.ts';
import type { AttemptOutcome, RetryRules, TaskProgress, TaskRecord } from './model.ts';
import { type GrpcCodeName, grpcCodes } from './refusal.ts';

/** The state changes of a task from attempt to attempt. */

/** A task of this age is deleted, dispatched or not. */
const retentionMs = 31 * 86_400_000;

export function isTooOld({ createdAt }: TaskRecord, now: number): boolean {
  return now - createdAt >= retentionMs;
}

export function newProgress(scheduledAt: number): TaskProgress {
  return {
    scheduledAt,
    attempts: 0,
    responses: 0,
    executions: 0,
    firstDispatchedAt: null,
    lastAttempt: null,
  };
}

export function begun(progress: TaskProgress, now: number): TaskProgress {
  return {
    ...progress,
    attempts: progress.attempts + 1,
    firstDispatchedAt: progress.firstDispatchedAt ?? now,
    lastAttempt: { scheduledAt: progress.scheduledAt, dispatchedAt: now, ended: null },
  };
}

export interface EndedAttempt {
  readonly outcome: AttemptOutcome;
  readonly dispatchedAt: number;
  readonly scheduledAt: number;
  readonly endedAt: number;
  /** The time from which the delay to the next attempt counts. */
  readonly retryFrom: number;
  readonly retryAfterMs: number;
}

/** The task's state after an attempt has ended; `null` if the task has ended too. */
export function afterAttempt(
  progress: TaskProgress,
  retry: RetryRules,
  ended: EndedAttempt,
): TaskProgress | null {
  const { outcome, endedAt, dispatchedAt, scheduledAt } = ended;
  const nextAt = Math.max(
    ended.retryFrom + backoffMs(retry, progress.attempts),
    endedAt + ended.retryAfterMs,
  );
  if (isSuccess(outcome) || isGivenUp(retry, progress, nextAt)) return null;
  const status = outcome.httpStatus;
  return {
    ...progress,
    scheduledAt: nextAt,
    responses: progress.responses + (status === null ? 0 : 1),
    executions: progress.executions + (status === null || status >= 500 ? 0 : 1),
    lastAttempt: { scheduledAt, dispatchedAt, ended: { at: endedAt, outcome } },
  };
}

/** The target reported overload. */
export function isOverload({ httpStatus }: AttemptOutcome): boolean {
  return httpStatus === 429 || httpStatus === 503;
}

export function isSuccess({ httpStatus }: AttemptOutcome): boolean {
  return httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
}

/** The map of statuses to codes of google/rpc/code.proto. */
const codeOfStatus: Readonly<Record<number, GrpcCodeName>> = {
  400: 'invalidArgument',
  401: 'unauthenticated',
  403: 'permissionDenied',
  404: 'notFound',
  409: 'aborted',
  429: 'resourceExhausted',
  499: 'cancelled',
  500: 'internal',
  501: 'unimplemented',
  503: 'unavailable',
  504: 'deadlineExceeded',
};

export function answeredWith(status: number): AttemptOutcome {
  const name = status >= 200 && status < 300 ? 'ok' : (codeOfStatus[status] ?? 'unknown');
  return { httpStatus: status, code: grpcCodes[name], message: `HTTP status code ${status}` };
}

export function notAnswered(code: GrpcCodeName, message: string): AttemptOutcome {
  return { httpStatus: null, code: grpcCodes[code], message };
}
