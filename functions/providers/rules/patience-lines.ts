import type { LogEvent } from '../../kernel/log.ts';
import { elapsedMs, formatUtc } from '../../kernel/timestamp.ts';
import type { ProviderFailure } from '../failure.ts';
import type { FailureRow } from './patience.ts';

/**
 * The log lines about a job that waits for its provider: one at the first failure of a row, one when an answer ends the
 * row. Pure.
 */

export interface WaitingJob {
  readonly runId: string;
  readonly handlerId: string;
}

export function failingLine(
  { runId, handlerId }: WaitingJob,
  { failureClass, providerStatus }: ProviderFailure,
  {
    since,
    nextTryAt,
    patienceMs,
  }: { readonly since: number; readonly nextTryAt: number; readonly patienceMs: number },
): LogEvent {
  const [, status] = /^http_(\d{3})$/.exec(providerStatus) ?? [];
  return {
    severity: 'WARNING',
    message: 'A job waits for a provider that fails',
    ...(status === undefined ? {} : { status: Number(status) }),
    code: providerStatus,
    runId,
    handlerId,
    failureClass,
    nextTryAt: formatUtc(nextTryAt),
    patienceEndsAt: formatUtc(since + patienceMs),
  };
}

export function answeredLine(
  { runId, handlerId }: WaitingJob,
  { since, failures }: FailureRow,
  now: number,
): LogEvent {
  return {
    severity: 'INFO',
    message: 'The provider that a job waited for has answered',
    durationMs: elapsedMs(since, now),
    count: failures,
    runId,
    handlerId,
  };
}
