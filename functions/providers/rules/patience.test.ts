import { describe, expect, test } from 'vitest';
import { ProviderFailure } from '../failure.ts';
import { outcomeOfFailure, succeeded } from './outcome.ts';
import { failureWaitedFor, nextTry } from './patience.ts';

const asked = { now: 1_000_000, patienceMs: 900_000, chance: 1, retryAfterMs: null };

describe('the next try', () => {
  test('is later after each failure, up to a minute', () => {
    const waits = [0, 1, 2, 4, 5, 9].map((failures) => {
      const row = { since: asked.now, failures };
      return (nextTry(row, asked)?.at ?? 0) - asked.now;
    });
    expect(waits).toEqual([2_000, 4_000, 8_000, 32_000, 60_000, 60_000]);
  });

  test('is after half of the wait at least', () => {
    expect(nextTry(null, { ...asked, chance: 0 })?.at).toBe(asked.now + 1_000);
  });

  test('waits as long as the provider demands, and no longer than the patience', () => {
    expect(nextTry(null, { ...asked, retryAfterMs: 45_000 })?.at).toBe(asked.now + 45_000);
    expect(nextTry(null, { ...asked, retryAfterMs: 3_600_000 })?.at).toBe(asked.now + 900_000);
  });

  test('is none once the patience is over', () => {
    const since = asked.now - 900_000;
    expect(nextTry({ since, failures: 3 }, asked)).toBeNull();
    expect(nextTry({ since: since + 1, failures: 3 }, asked)).toEqual({
      row: { since: since + 1, failures: 4 },
      at: asked.now + 1,
    });
    expect(nextTry(null, { ...asked, patienceMs: 0 })).toBeNull();
  });

  test('does not wait for longer after a clock was set back', () => {
    const row = { since: asked.now + 3_600_000, failures: 1 };
    expect(nextTry(row, asked)?.row.since).toBe(asked.now);
  });
});

describe('the outcome of a run', () => {
  const busy = new ProviderFailure('rate_limit', 'concurrency_queue_timeout', 'busy', { isOfGuard: true });
  const spent = new ProviderFailure('quota', 'budget_spent', 'spent', { isOfGuard: true });

  test.each([
    ['rate_limit', 'http_429', true],
    ['timeout', 'http_408', true],
    ['timeout', 'client_timeout', false],
    ['provider_unavailable', 'http_500', true],
    ['provider_unavailable', 'circuit_open', true],
    ['network', 'connection_failed', true],
    ['auth', 'http_401', false],
    ['schema', 'invalid_json', false],
    ['unknown', 'http_418', false],
  ] as const)('%s %s is waited for: %s', (failureClass, status, isWaited) => {
    const outcome = outcomeOfFailure(new ProviderFailure(failureClass, status, 'failed'));
    expect(failureWaitedFor(outcome, false) !== null).toBe(isWaited);
  });

  test('of a limit of the service is waited for by a run that has waited already', () => {
    expect(failureWaitedFor(outcomeOfFailure(busy), false)).toBeNull();
    expect(failureWaitedFor(outcomeOfFailure(busy), true)).toMatchObject({ isOfGuard: true });
    expect(failureWaitedFor(outcomeOfFailure(spent), true)).toBeNull();
  });

  test('that is a success or a cancellation is not', () => {
    const cancelled = outcomeOfFailure(new ProviderFailure('cancelled', 'cancelled', 'stopped'));
    for (const outcome of [succeeded({}), cancelled]) expect(failureWaitedFor(outcome, true)).toBeNull();
  });
});
