import type { RetryRules, TaskProgress } from './model.ts';

/**
 * The delay before the next attempt. It starts at the minimum, doubles `maxDoublings` times, then grows by the value
 * it had reached, up to the maximum: 10 s, 300 s and 3 doublings give 10, 20, 40, 80, 160, 240, 300, 300, … (comment
 * of `RetryConfig.max_doublings`).
 */
export function backoffMs(retry: RetryRules, failures: number): number {
  const { minBackoffMs, maxBackoffMs, maxDoublings } = retry;
  if (minBackoffMs === 0) return 0;
  const steps = failures - 1;
  const doubled = minBackoffMs * 2 ** Math.min(steps, maxDoublings);
  return Math.min(maxBackoffMs, doubled * Math.max(1, steps - maxDoublings + 1));
}

/**
 * Whether to give a failed task up: when every limit that is set is reached at `nextAt`, the time of the next
 * attempt. A task with only one of the two limits ends by that one.
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

/** A `Retry-After` field (RFC 9110 section 10.2.3) as milliseconds from now; 0 for an invalid one. */
export function retryAfterMs(field: string | null, now: number): number {
  if (field === null) return 0;
  if (/^\d{1,10}$/.test(field.trim())) return Math.min(Number(field), secondsMax) * 1000;
  // Require the weekday and GMT: Date.parse accepts far more than HTTP dates.
  if (!/^[A-Z][a-z]{2,8},? .+ GMT$/.test(field.trim())) return 0;
  const at = Date.parse(field);
  return Number.isNaN(at) ? 0 : Math.min(Math.max(0, at - now), secondsMax * 1000);
}
