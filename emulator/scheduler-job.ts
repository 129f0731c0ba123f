import { Cron } from 'croner';
import { isLoopbackHost } from '../functions/http/loopback-host.ts';
import { backoffMs, isGivenUp } from './tasks/backoff.ts';
import type { RetryRules } from './tasks/model.ts';
import { newProgress } from './tasks/task-life.ts';

/** A job of the local scheduler: a request that is sent on a schedule. */
export interface SchedulerJob {
  /** Letters, digits, hyphens and underscores. */
  readonly name: string;
  /** Five fields of unix cron, in UTC. */
  readonly schedule: string;
  /** The loopback address that receives a POST without a body. */
  readonly target: string;
  /** The account and the audience of the request's token. */
  readonly oidc: { readonly serviceAccountEmail: string; readonly audience: string };
  /** The time limit of an attempt; default three minutes, as in Cloud Scheduler. */
  readonly attemptDeadlineMs?: number;
  readonly retry?: Partial<JobRetry>;
}

/**
 * The retries of a failed attempt; by default none, as in Cloud Scheduler: the job waits for its next scheduled time.
 */
interface JobRetry extends Omit<RetryRules, 'maxAttempts'> {
  /** The number of retries; default 0. */
  readonly retryCount: number;
}

export const attemptDeadlineMsDefault = 180_000;

const retryDefault: JobRetry = {
  retryCount: 0,
  maxRetryDurationMs: 0,
  minBackoffMs: 5000,
  maxBackoffMs: 3_600_000,
  maxDoublings: 5,
};

/** A job with the times at which it is due. */
export interface ScheduledJob {
  readonly job: SchedulerJob;
  /** The first scheduled time after `now`; `null` if there is none. */
  nextAfter(now: number): number | null;
}

// The library accepts more than unix cron, such as seconds and the last day of a month. Cloud Scheduler refuses
// those.
const value = String.raw`(?:\*|\d{1,2}|[A-Za-z]{3})(?:-(?:\d{1,2}|[A-Za-z]{3}))?(?:/\d{1,2})?`;
const field = `${value}(?:,${value})*`;
const unixCron = new RegExp(`^${field}(?: ${field}){4}$`);

/** Throws an Error for an invalid job. */
export function scheduled(job: SchedulerJob): ScheduledJob {
  if (!/^[A-Za-z0-9_-]{1,500}$/.test(job.name))
    throw new Error(`The name of a job, ${JSON.stringify(job.name)}, must be letters, digits, - and _.`);
  if (!isLoopbackHost(new URL(job.target).host))
    throw new Error(`The job ${job.name} must have a target on loopback, not ${job.target}.`);
  if (!unixCron.test(job.schedule))
    throw new Error(`The schedule of the job ${job.name} must be the five fields of unix cron.`);
  const cron = new Cron(job.schedule, { timezone: 'UTC', mode: '5-part', paused: true });
  return { job, nextAfter: (now) => cron.nextRun(new Date(now))?.getTime() ?? null };
}

/** The header fields that Cloud Scheduler sends. */
export function jobHeaders({ name }: SchedulerJob, dueAt: number, token: string): Record<string, string> {
  return {
    'user-agent': 'Google-Cloud-Scheduler',
    'x-cloudscheduler': 'true',
    'x-cloudscheduler-jobname': name,
    'x-cloudscheduler-scheduletime': new Date(dueAt).toISOString(),
    authorization: `Bearer ${token}`,
  };
}

/** The delay between a failure and the retry; `null` if the run ends. */
export function retryDelayMs(
  { retry }: SchedulerJob,
  { attempts, firstAt, now }: { readonly attempts: number; readonly firstAt: number; readonly now: number },
): number | null {
  const { retryCount, ...limits } = { ...retryDefault, ...retry };
  if (retryCount === 0) return null;
  const rules = { ...limits, maxAttempts: retryCount + 1 };
  const delayMs = backoffMs(rules, attempts);
  const progress = { ...newProgress(firstAt), attempts, firstDispatchedAt: firstAt };
  return isGivenUp(rules, progress, now + delayMs) ? null : delayMs;
}
