import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { admitCall, callEnded, FAILURES_MAX, type GuardState, NO_CALLS, REST_MS } from './guard.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const MINUTE = 60_000;
const free = { callsPerMinute: null, tokensPerDayMax: null };

function admitted(state: GuardState, limits = free as Parameters<typeof admitCall>[1], at = NOW, tokens = 1) {
  const answer = admitCall(state, limits, { tokens, now: at });
  return 'state' in answer ? answer.state : answer.refusal;
}
const isState = (answer: ReturnType<typeof admitted>): answer is GuardState => 'calls' in answer;

function failing(count: number, at = NOW): GuardState {
  let state = NO_CALLS;
  for (let each = 0; each < count; each += 1) state = callEnded(state, 'network', at);
  return state;
}

describe('calls of a minute', () => {
  test('beyond the limit wait for its end', () => {
    const limits = { ...free, callsPerMinute: 2 };
    let state = NO_CALLS;
    for (const at of [NOW, NOW + 10]) {
      const next = admitted(state, limits, at);
      if (!isState(next)) throw new Error('refused');
      state = next;
    }
    expect(admitted(state, limits, NOW + 20)).toEqual({ reason: 'rate_limited', retryAfterMs: MINUTE - 20 });
    expect(admitted(state, limits, NOW + MINUTE)).toMatchObject({ calls: 1, windowStart: NOW + MINUTE });
  });

  test('are never more than the limit in one window, whatever the moments', () => {
    const moments = fc.array(fc.nat(5 * MINUTE), { maxLength: 60 });
    fc.assert(
      fc.property(moments, fc.integer({ min: 1, max: 5 }), (all, callsPerMinute) => {
        let state = NO_CALLS;
        const windows = new Map<number, number>();
        for (const at of all.toSorted((a, b) => a - b)) {
          const next = admitted(state, { ...free, callsPerMinute }, NOW + at);
          if (!isState(next)) continue;
          state = next;
          windows.set(state.windowStart, (windows.get(state.windowStart) ?? 0) + 1);
        }
        for (const count of windows.values()) expect(count).toBeLessThanOrEqual(callsPerMinute);
      }),
    );
  });
});

describe('tokens of a day', () => {
  const limits = { ...free, tokensPerDayMax: 10 };
  test('beyond the budget wait for the next day', () => {
    const state = admitted(NO_CALLS, limits, NOW, 8);
    if (!isState(state)) throw new Error('refused');
    expect(admitted(state, limits, NOW, 3)).toEqual({ reason: 'budget_spent', retryAfterMs: 12 * 3_600_000 });
    expect(admitted(state, limits, NOW, 2)).toMatchObject({ tokens: 10 });
    expect(admitted(state, limits, NOW + 12 * 3_600_000, 3)).toMatchObject({ tokens: 3 });
  });

  test('a clock that is a day behind gets no new budget', () => {
    const state = admitted(NO_CALLS, limits, NOW, 8);
    if (!isState(state)) throw new Error('refused');
    expect(admitted(state, limits, NOW - 86_400_000, 3)).toMatchObject({ reason: 'budget_spent' });
  });
});

describe('a provider that fails', () => {
  test('is left alone after some failures in a row, and then one call tries', () => {
    expect(isState(admitted(failing(FAILURES_MAX - 1)))).toBe(true);
    const resting = failing(FAILURES_MAX);
    expect(admitted(resting)).toEqual({ reason: 'circuit_open', retryAfterMs: REST_MS });
    const trial = admitted(resting, free, NOW + REST_MS);
    if (!isState(trial)) throw new Error('refused');
    expect(admitted(trial, free, NOW + REST_MS)).toMatchObject({ reason: 'circuit_open' });
    expect(callEnded(trial, null, NOW)).toMatchObject({ failures: 0, restsUntil: null });
    expect(callEnded(trial, 'timeout', NOW + REST_MS)).toMatchObject({ restsUntil: NOW + 2 * REST_MS });
  });

  test('is left alone no longer than a rest by an instance whose clock is behind', () => {
    expect(isState(admitted(failing(FAILURES_MAX), free, NOW - 1))).toBe(true);
  });

  test.each(['auth', 'schema', 'configuration', 'unknown'] as const)(
    'is there where it refuses: %s',
    (word) => {
      expect(callEnded(failing(FAILURES_MAX - 1), word, NOW).failures).toBe(0);
    },
  );

  test('a cancelled call and a success of one that is known well change nothing', () => {
    const state = failing(2);
    expect(callEnded(state, 'cancelled', NOW)).toBe(state);
    expect(callEnded(NO_CALLS, null, NOW)).toBe(NO_CALLS);
  });
});
