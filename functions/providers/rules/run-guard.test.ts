import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admitRun,
  endRun,
  LEASE_MS_MAX,
  NO_RUNS,
  type ProviderRunCounts,
  type RunGuardLimits,
} from './run-guard.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const MINUTE = 60_000;
const limits: RunGuardLimits = { runsPerWindow: 60, windowMs: MINUTE, concurrentRuns: 1 };
const holder = 'first';
const enter = (counts: ProviderRunCounts, id: string, now = NOW, own: Partial<RunGuardLimits> = {}) =>
  admitRun(counts, { ...limits, ...own }, { id, holder, now, leaseMs: 10_000 });

describe('runs', () => {
  test('of one minute are 60, and the 61st waits for its end', () => {
    let counts = NO_RUNS;
    for (let at = 0; at < 60; at += 1) {
      const answer = enter(counts, `run-${at}`);
      expect(answer.refusal).toBeNull();
      counts = endRun(answer.counts, `run-${at}`, holder);
    }
    expect(enter(counts, 'run-60', NOW + 1_000).refusal).toEqual({
      reason: 'rate_limited',
      retryAfterMs: MINUTE - 1_000,
    });
    expect(enter(counts, 'run-60', NOW + MINUTE)).toMatchObject({ refusal: null, counts: { runs: 1 } });
  });

  test('wait for the place of another, which ends with the run or with its time', () => {
    const { counts } = enter(NO_RUNS, 'one');
    expect(enter(counts, 'two', NOW + 1).refusal).toEqual({ reason: 'busy', retryAfterMs: 9_999 });
    expect(enter(endRun(counts, 'one', holder), 'two').refusal).toBeNull();
    expect(enter(counts, 'two', NOW + 10_000).refusal).toBeNull();
  });

  test('that go on with another worker keep their place and count once', () => {
    const { counts } = enter(NO_RUNS, 'one');
    const again = enter(counts, 'one', NOW + 5_000, { runsPerWindow: 1 });
    expect(again).toMatchObject({
      refusal: null,
      counts: { runs: 1, leases: [{ id: 'one', until: NOW + 15_000 }] },
    });
  });

  test('that another worker has resumed keep their place when the first worker leaves', () => {
    const { counts } = enter(NO_RUNS, 'one');
    const asking = { id: 'one', holder: 'second', now: NOW + 1, leaseMs: 10_000 };
    const taken = admitRun(counts, limits, asking).counts;
    expect(endRun(taken, 'one', 'first')).toBe(taken);
    expect(endRun(taken, 'one', 'second').leases).toEqual([]);
    expect(endRun(taken, 'one', null).leases).toEqual([]);
  });

  test('end without a trace where they have no place', () => {
    const { counts } = enter(NO_RUNS, 'one');
    expect(endRun(counts, 'two', holder)).toBe(counts);
  });

  test('of a clock that is far ahead keep no others out', () => {
    const { counts } = enter(NO_RUNS, 'one', NOW + 2 * LEASE_MS_MAX);
    expect(enter(counts, 'two').refusal).toBeNull();
  });

  test('that go on after their lease has ended need only a place', () => {
    const own = { runsPerWindow: 1 };
    const asking = { id: 'one', holder, now: NOW + 20_000, leaseMs: 10_000, wasAdmitted: true };
    const { counts } = enter(NO_RUNS, 'one', NOW, own);
    expect(admitRun(counts, { ...limits, ...own }, asking)).toMatchObject({
      refusal: null,
      counts: { runs: 1, leases: [{ id: 'one', until: NOW + 30_000 }] },
    });
    const other = enter(NO_RUNS, 'two', asking.now).counts;
    expect(admitRun(other, limits, asking).refusal).toMatchObject({ reason: 'busy' });
  });

  test('of a clock that is five minutes ahead are not refused for ever where the other clock has filled the window and is gone', () => {
    let counts = NO_RUNS;
    const begin = (now: number, id: string) => {
      const answer = enter(counts, id, now);
      counts = endRun(answer.counts, id, holder);
      return answer.refusal === null;
    };
    begin(NOW, 'slow');
    begin(NOW + 5 * MINUTE, 'ahead');
    begin(NOW, 'slow-again');
    for (let at = 0; at < 70; at += 1) begin(NOW + 2 * MINUTE + at, `slow-${at}`);
    let refused = 0;
    for (let minute = 8; minute < 8 + 30 * 24 * 60; minute += 1)
      if (!begin(NOW + minute * MINUTE, `ahead-${minute}`)) refused += 1;
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(3);
  });

  test('that are refused change what is stored only where a clock or its window is another', () => {
    let { counts } = enter(NO_RUNS, 'one', NOW, { runsPerWindow: 1 });
    const full = counts;
    expect(enter(full, 'two', NOW + 1, { runsPerWindow: 1 }).counts).toBe(full);
    const later = enter(full, 'two', NOW - 5 * MINUTE, { runsPerWindow: 1 });
    expect(later.refusal).not.toBeNull();
    expect(later.counts).toMatchObject({ runs: 1, leases: full.leases });
    expect(later.counts.windows).toHaveLength(2);
    counts = later.counts;
    expect(enter(counts, 'two', NOW - 5 * MINUTE, { runsPerWindow: 1 }).counts).toBe(counts);
  });

  test('are never more at once than the limit, in any order of their begins and ends', () => {
    const step = fc.record({ id: fc.nat(6), ends: fc.boolean(), after: fc.nat(3_000) });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.integer({ min: 1, max: 3 }),
        (steps, concurrentRuns) => {
          let counts = NO_RUNS;
          let now = NOW;
          for (const { id, ends, after } of steps) {
            now += after;
            counts = ends
              ? endRun(counts, `run-${id}`, holder)
              : enter(counts, `run-${id}`, now, { concurrentRuns, runsPerWindow: null }).counts;
            const held = counts.leases.filter(({ until }) => until > now);
            expect(held.length).toBeLessThanOrEqual(concurrentRuns);
            expect(new Set(held.map((lease) => lease.id)).size).toBe(held.length);
          }
        },
      ),
    );
  });
});
