import type { protos } from '@google-cloud/tasks';
import type { QueueRecord, TaskAttempt, TaskRecord } from './model.ts';
import { durationOf, timestampOf } from './wire-time.ts';

/** Queues and tasks in the form of the protocol. */

type WireQueue = protos.google.cloud.tasks.v2.IQueue;
type WireTask = protos.google.cloud.tasks.v2.ITask;
type WireAttempt = protos.google.cloud.tasks.v2.IAttempt;
export type TaskView = protos.google.cloud.tasks.v2.GetTaskRequest['responseView'] | null | undefined;

export function queueView({
  name,
  state,
  rateLimits,
  retry,
  loggingRatio,
  purgedAt,
}: QueueRecord): WireQueue {
  return {
    name,
    state,
    rateLimits,
    retryConfig: {
      maxAttempts: retry.maxAttempts,
      maxRetryDuration: durationOf(retry.maxRetryDurationMs),
      minBackoff: durationOf(retry.minBackoffMs),
      maxBackoff: durationOf(retry.maxBackoffMs),
      maxDoublings: retry.maxDoublings,
    },
    ...(loggingRatio === null ? {} : { stackdriverLoggingConfig: { samplingRatio: loggingRatio } }),
    ...(purgedAt === null ? {} : { purgeTime: timestampOf(purgedAt) }),
  };
}

export function taskView({ name, createdAt, request, progress }: TaskRecord, view: TaskView): WireTask {
  const full = view === 'FULL';
  const { firstDispatchedAt, lastAttempt } = progress;
  return {
    name,
    httpRequest: {
      url: request.url,
      httpMethod: request.method as 'POST',
      headers: { ...request.headers },
      ...(full && request.body !== null ? { body: request.body } : {}),
      ...(request.oidcToken === null ? {} : { oidcToken: request.oidcToken }),
    },
    scheduleTime: timestampOf(progress.scheduledAt),
    createTime: timestampOf(Math.floor(createdAt / 1000) * 1000),
    ...(request.dispatchDeadlineMs === null
      ? {}
      : { dispatchDeadline: durationOf(request.dispatchDeadlineMs) }),
    dispatchCount: progress.attempts,
    responseCount: progress.responses,
    ...(firstDispatchedAt === null ? {} : { firstAttempt: { dispatchTime: timestampOf(firstDispatchedAt) } }),
    ...(lastAttempt === null ? {} : { lastAttempt: attemptView(lastAttempt) }),
    view: full ? 'FULL' : 'BASIC',
  };
}

function attemptView({ scheduledAt, dispatchedAt, ended }: TaskAttempt): WireAttempt {
  return {
    scheduleTime: timestampOf(scheduledAt),
    dispatchTime: timestampOf(dispatchedAt),
    ...(ended === null
      ? {}
      : {
          // A cancelled attempt has a status, but no response.
          ...(ended.outcome.httpStatus === null ? {} : { responseTime: timestampOf(ended.at) }),
          responseStatus: { code: ended.outcome.code, message: ended.outcome.message },
        }),
  };
}
