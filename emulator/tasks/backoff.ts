import type { RetryRules, TaskProgress } from './model.ts';

/**
 * How long after its failure a task is tried again. The interval begins with the least one, doubles `maxDoublings` times, then
 * grows by what it had reached each time, and stays at the greatest: 10 s, 300 s and 3 doublings give 10, 20, 40, 80, 160,
 * 240, 300, 300, … (comment of `RetryConfig.max_doublings`).
 */
export function backoffMs(retry: RetryRules, failures: number): number {
  const { minBackoffMs, maxBackoffMs, maxDoublings } = retry;
  if (minBackoffMs === 0) return 0;
  const steps = failures - 1;
  const doubled = minBackoffMs * 2 ** Math.min(steps, maxDoublings);
  return Math.min(maxBackoffMs, doubled * Math.max(1, steps - maxDoublings + 1));
}

/**
 * Whether a task that has failed is given up: when each limit that is set will have been reached at `nextAt`, the time of its
 * next attempt. So the duration alone ends a task whose attempts are not limited, and attempts alone one whose duration is not.
 */
export function isGivenUp(retry: RetryRules, progress: TaskProgress, nextAt: number): boolean {
  const { maxAttempts, maxRetryDurationMs } = retry;
  const attemptsLimited = maxAttempts >= 0;
  const durationLimited = maxRetryDurationMs > 0;
  if (!attemptsLimited && !durationLimited) return false;
  const attemptsOver = !attemptsLimited || progress.attempts >= maxAttempts;
  const since = progress.firstDispatchedAt ?? nextAt;
  return attemptsOver && (!durationLimited || nextAt - since >= maxRetryDurationMs);
}

const secondsMax = 30 * 86_400;

/** A `Retry-After` field (RFC 9110 section 10.2.3) as milliseconds from now; 0 for one that says nothing. */
export function retryAfterMs(field: string | null, now: number): number {
  if (field === null) return 0;
  if (/^\d{1,10}$/.test(field.trim())) return Math.min(Number(field), secondsMax) * 1000;
  // Only the form with a weekday and GMT: Date.parse takes far more for a date than HTTP does.
  if (!/^[A-Z][a-z]{2,8},? .+ GMT$/.test(field.trim())) return 0;
  const at = Date.parse(field);
  return Number.isNaN(at) ? 0 : Math.min(Math.max(0, at - now), secondsMax * 1000);
}
