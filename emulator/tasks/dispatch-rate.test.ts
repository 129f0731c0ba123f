import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DispatchRate } from './dispatch-rate.ts';
import type { RateLimits } from './model.ts';

const limits: RateLimits = { maxDispatchesPerSecond: 5, maxBurstSize: 10, maxConcurrentDispatches: 1000 };

/** Takes tokens until the bucket is empty; returns their number and the wait for the next one. */
function drain(rate: DispatchRate, now: number, given = limits): { taken: number; waitMs: number } {
  for (let taken = 0; ; taken += 1) {
    const waitMs = rate.take(given, now);
    if (waitMs > 0) return { taken, waitMs };
  }
}

test('a burst is full at first, and fills again at the rate', () => {
  const rate = new DispatchRate(limits, 0);
  expect(drain(rate, 0)).toEqual({ taken: 10, waitMs: 200 });
  expect(drain(rate, 199)).toEqual({ taken: 0, waitMs: 1 });
  expect(drain(rate, 200)).toEqual({ taken: 1, waitMs: 200 });
  expect(drain(rate, 1200)).toEqual({ taken: 5, waitMs: 200 });
  expect(drain(rate, 1_000_000)).toEqual({ taken: 10, waitMs: 200 });
});

test('each overload halves rate and burst down to a sixteenth, and each success gives a sixteenth back', () => {
  const rate = new DispatchRate(limits, 0);
  rate.slowDown(limits, 0);
  expect(drain(rate, 0)).toEqual({ taken: 5, waitMs: 400 });
  for (let times = 0; times < 9; times += 1) rate.slowDown(limits, 0);
  expect(rate.share).toBe(1 / 16);
  expect(drain(rate, 0)).toEqual({ taken: 0, waitMs: 3200 });
  for (let times = 0; times < 14; times += 1) rate.recover(limits, 0);
  expect(rate.share).toBe(15 / 16);
  rate.recover(limits, 0);
  rate.recover(limits, 0);
  expect(rate.share).toBe(1);
  expect(drain(rate, 1_000_000).taken).toBe(10);
});

test('no span of time dispatches more than a burst plus the rate, and the announced wait is long enough', () => {
  const world = fc.record({
    maxDispatchesPerSecond: fc.double({ min: 0.01, max: 500, noNaN: true }),
    maxBurstSize: fc.integer({ min: 1, max: 500 }),
    pauses: fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 30 }),
  });
  fc.assert(
    fc.property(world, ({ pauses, ...given }) => {
      const all = { ...given, maxConcurrentDispatches: 1 };
      const rate = new DispatchRate(all, 0);
      const takenAt: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        now += pause;
        for (let times = 0; times < 40; times += 1) {
          const waitMs = rate.take(all, now);
          if (waitMs > 0) {
            now += waitMs;
            expect(rate.take(all, now)).toBe(0);
          }
          takenAt.push(now);
        }
      }
      for (const [first, from] of takenAt.entries()) {
        const last = Math.min(takenAt.length - 1, first + 100);
        const span = (takenAt[last] ?? 0) - from;
        const most = all.maxBurstSize + (span / 1000) * all.maxDispatchesPerSecond;
        expect(last - first + 1).toBeLessThanOrEqual(most + 1e-6);
      }
    }),
    { numRuns: 100 },
  );
});
