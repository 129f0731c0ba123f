import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, isGivenUp, retryAfterMs } from './backoff.ts';
import type { RetryRules } from './model.ts';
import { newProgress } from './task-life.ts';

const rules: RetryRules = {
  maxAttempts: 100,
  maxRetryDurationMs: 0,
  minBackoffMs: 10_000,
  maxBackoffMs: 300_000,
  maxDoublings: 3,
};

describe('the time to the next attempt', () => {
  test('is that of the example in the protocol', () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((failures) => backoffMs(rules, failures) / 1000);
    expect(times).toEqual([10, 20, 40, 80, 160, 240, 300, 300, 300]);
  });

  /** The protocol's description taken literally: each interval follows from the previous one. */
  function* model({ minBackoffMs, maxBackoffMs, maxDoublings }: RetryRules): Generator<number> {
    let interval = minBackoffMs;
    for (let doubled = 0; doubled < maxDoublings && interval < maxBackoffMs; doubled += 1) {
      yield Math.min(interval, maxBackoffMs);
      interval *= 2;
    }
    const step = interval;
    for (;;) {
      yield Math.min(interval, maxBackoffMs);
      interval += step;
    }
  }

  test('is that of a model, for any rules', () => {
    const anyRules = fc
      .record({
        minBackoffMs: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 100_000 })),
        more: fc.integer({ min: 0, max: 4_000_000 }),
        maxDoublings: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(2 ** 31 - 1)),
      })
      .map(({ minBackoffMs, more, maxDoublings }) => ({
        ...rules,
        minBackoffMs,
        maxBackoffMs: minBackoffMs + more,
        maxDoublings,
      }));
    fc.assert(
      fc.property(anyRules, (given) => {
        // With zero as its minimum the model would double zero for ever, so it gets no doublings.
        const expected = model(given.minBackoffMs === 0 ? { ...given, maxDoublings: 0 } : given);
        for (let failures = 1; failures <= 60; failures += 1)
          expect(backoffMs(given, failures)).toBe(expected.next().value);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a task is given up', () => {
  const nextAt = 1_000_000;
  const after = (attempts: number, agedMs: number) => ({
    ...newProgress(0),
    attempts,
    firstDispatchedAt: nextAt - agedMs,
  });
  test.each([
    ['at its last attempt', { maxAttempts: 3 }, 3, 0, true],
    ['not before it', { maxAttempts: 3 }, 2, 1e9, false],
    ['not before its duration as well', { maxAttempts: 3, maxRetryDurationMs: 5000 }, 9, 4999, false],
    ['when both are reached', { maxAttempts: 3, maxRetryDurationMs: 5000 }, 3, 5000, true],
    ['not before its attempts as well', { maxAttempts: 3, maxRetryDurationMs: 5000 }, 2, 9000, false],
    [
      'at its duration where attempts are not limited',
      { maxAttempts: -1, maxRetryDurationMs: 5 },
      1,
      5,
      true,
    ],
    ['never where nothing is limited', { maxAttempts: -1 }, 1e6, 1e12, false],
  ] as const)('%s', (_, changed, attempts, agedMs, expected) => {
    expect(isGivenUp({ ...rules, ...changed }, after(attempts, agedMs), nextAt)).toBe(expected);
  });
});

test.each([
  [null, 0],
  ['0', 0],
  ['7', 7000],
  [' 7 ', 7000],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['9999999999', 2_592_000_000],
  ['-1', 0],
  ['1.5', 0],
  ['2027', 2_027_000],
  ['2026-01-01T00:00:30Z', 0],
  ['soon', 0],
])('a Retry-After of %s is %i ms', (field, expected) => {
  expect(retryAfterMs(field, Date.UTC(2026, 0, 1))).toBe(expected);
});
