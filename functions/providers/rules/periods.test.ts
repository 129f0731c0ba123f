import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLOCKS_MAX, type Periods, periodOf } from './periods.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 0, 2, 12);

/** The number of restarts of the counts, for clocks that call in this order, each at a time of its own. */
function begun(moments: readonly number[], length = DAY): number {
  let known: Periods = [];
  let count = 0;
  for (const now of moments) {
    const period = periodOf(known, now, length);
    known = period.known;
    if (period.isNew) count += 1;
  }
  return count;
}

describe('the period of several clocks', () => {
  test('restarts once a day for clocks that agree, also after days without a call', () => {
    expect(begun([0, 0, 1, 1, 1, 2, 7, 7].map((days) => NOON + days * DAY))).toBe(3);
    const { known } = periodOf([], 20_000 * DAY, DAY);
    expect(periodOf(known, 20_000 * DAY + 1, DAY)).toEqual({ known, isNew: false, endsAfterMs: DAY - 1 });
  });

  test('restarts once when one clock is a little ahead', () => {
    const midnight = NOON + DAY / 2;
    const turns = Array.from({ length: 20 }, (_, at) => midnight + (at % 2 === 0 ? 5 : -5) * 1_000);
    expect(begun([NOON, ...turns, midnight + 60_000])).toBe(1);
  });

  test('holds for a clock that is far ahead and one that is right, however they take turns', () => {
    const turns = Array.from({ length: 40 }, (_, at) => NOON + at + (at % 2 === 0 ? 400 * DAY : 0));
    expect(begun([NOON, ...turns])).toBe(1);
  });

  test('ends for every clock soon after another one was ahead and stopped', () => {
    fc.assert(
      fc.property(fc.integer({ min: -400 * DAY, max: 400 * DAY }), (ahead) => {
        let { known } = periodOf([], NOON, DAY);
        known = periodOf(known, NOON + ahead, DAY).known;
        known = periodOf(known, NOON + 1, DAY).known;
        // A clock that reaches the periods of the other is treated as the other one, and waits for the end of the count
        // that it began.
        const days = [1, 2, 3, 4].map((day) => {
          const period = periodOf(known, NOON + day * DAY, DAY);
          known = period.known;
          return period.isNew;
        });
        expect(days).toContain(true);
      }),
      { numRuns: 2_000, examples: [[2.5 * DAY], [3 * DAY], [-2.5 * DAY]] },
    );
  });

  test('restarts at most once for each clock and its period, with up to four clocks', () => {
    const clocks = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 1, maxLength: 4 });
    const calls = fc.array(fc.record({ hours: fc.nat(72), clock: fc.nat(3) }), { maxLength: 100 });
    fc.assert(
      fc.property(clocks, calls, (aheads, all) => {
        const moments = all
          .toSorted((left, right) => left.hours - right.hours)
          .map(({ hours, clock }) => ({
            clock: clock % aheads.length,
            now: NOON + hours * 3_600_000 + (aheads[clock % aheads.length] ?? 0) * DAY,
          }));
        const periods = new Set(moments.map(({ clock, now }) => `${clock} ${Math.floor(now / DAY)}`));
        expect(begun(moments.map(({ now }) => now))).toBeLessThanOrEqual(periods.size);
      }),
    );
  });

  test.each([
    { aheads: [0, 2.5] },
    { aheads: [0, 1.1] },
    { aheads: [0, 2.3, 4.6, 6.9] },
    { aheads: [0, 1.3, 2.6, 3.9] },
    { aheads: [0, 5_000] },
    { aheads: [0, 1, 2, 3, 4, 5, 6, 7] },
  ])('restarts once a period on the average for clocks that are $aheads periods ahead', ({ aheads }) => {
    for (const pause of [0.01, 0.3, 0.9, 1.7]) {
      const moments = Array.from({ length: Math.floor(100 / pause) }, (_, at) => NOON + at * pause * DAY);
      const count = begun(
        moments.flatMap((moment) => aheads.map((ahead) => Math.floor(moment + ahead * DAY))),
      );
      // Each new clock may cause some more restarts.
      expect(count).toBeLessThanOrEqual(100 + 2 * aheads.length);
      expect(count).toBeGreaterThan(50);
    }
  });

  test('restarts for the last remaining clock, after any of the others stopped', () => {
    const clocks = fc.uniqueArray(fc.integer({ min: -50, max: 50 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(clocks, fc.nat(), fc.integer({ min: 1, max: 30 }), (aheads, pick, days) => {
        let known: Periods = [];
        const survivor = aheads[pick % aheads.length] ?? 0;
        const resets: number[] = [];
        for (let hour = 0; hour < (days + 60) * 24; hour += 6)
          for (const ahead of hour < days * 24 ? aheads : [survivor]) {
            const period = periodOf(known, NOON + hour * 3_600_000 + ahead * DAY, DAY);
            known = period.known;
            if (period.isNew) resets.push(hour);
          }
        const alone = resets.filter((hour) => hour >= days * 24);
        // Two periods for the counts of another clock, and the same again when the clock reaches the periods of one
        // that was ahead and has stopped.
        expect(Math.min(...alone)).toBeLessThan((days + 6 + 2 * aheads.length) * 24);
        expect(alone.length).toBeGreaterThanOrEqual(60 - 10 - 2 * aheads.length);
      }),
    );
  });

  test('keeps a limited number of clocks', () => {
    let known: Periods = [];
    for (let each = 0; each < 20; each += 1) known = periodOf(known, NOON - each * 5 * DAY, DAY).known;
    expect(known).toHaveLength(CLOCKS_MAX);
  });
});
