import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admitCall,
  callEnded,
  FAILURES_MAX,
  type GuardLimits,
  type GuardState,
  NO_CALLS,
  REST_MS,
} from './guard.ts';
import { OTHERS, SPACES_MAX } from './space-counts.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const MINUTE = 60_000;
const DAY = 86_400_000;
const free: GuardLimits = { callsPerMinute: null, tokensPerDayMax: null, spaceSharePercent: 100 };

interface Call {
  readonly limits?: Partial<GuardLimits>;
  readonly now?: number;
  readonly tokens?: number;
  readonly space?: string | null;
}

function ask(state: GuardState, { limits = {}, now = NOW, tokens = 1, space = 'a' }: Call = {}) {
  return admitCall(state, { ...free, ...limits }, { space, tokens, now });
}

function admitted(state: GuardState, call: Call = {}): GuardState {
  const answer = ask(state, call);
  expect(answer.refusal).toBeNull();
  return answer.state;
}

function failing(count: number, spaces: readonly (string | null)[] = ['a'], now = NOW): GuardState {
  let state = NO_CALLS;
  for (let each = 0; each < count; each += 1)
    state = callEnded(state, { failure: 'network', space: spaces[each % spaces.length] ?? null, now });
  return state;
}

describe('calls of a minute', () => {
  test('beyond the limit wait for its end', () => {
    const limits = { callsPerMinute: 2 };
    const state = admitted(admitted(NO_CALLS, { limits }), { limits, now: NOW + 10 });
    expect(ask(state, { limits, now: NOW + 20 }).refusal).toEqual({
      reason: 'rate_limited',
      retryAfterMs: MINUTE - 20,
    });
    expect(admitted(state, { limits, now: NOW + MINUTE })).toMatchObject({ calls: 1 });
  });

  test('are never more than the limit in one minute, whatever the moments', () => {
    const moments = fc.array(fc.nat(5 * MINUTE), { maxLength: 60 });
    fc.assert(
      fc.property(moments, fc.integer({ min: 1, max: 5 }), (all, callsPerMinute) => {
        let state = NO_CALLS;
        const minutes = new Map<number, number>();
        for (const at of all.toSorted((a, b) => a - b)) {
          const answer = ask(state, { limits: { callsPerMinute }, now: NOW + at });
          state = answer.state;
          const minute = Math.floor(at / MINUTE);
          if (answer.refusal === null) minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
        }
        for (const count of minutes.values()) expect(count).toBeLessThanOrEqual(callsPerMinute);
      }),
    );
  });

  test('of two clocks that differ by an hour keep to one limit, however they take turns', () => {
    const limits = { callsPerMinute: 3 };
    let state = NO_CALLS;
    let made = 0;
    for (let at = 0; at < 40; at += 1) {
      const answer = ask(state, { limits, now: NOW + at + (at % 2) * 3_600_000 });
      state = answer.state;
      if (answer.refusal === null) made += 1;
    }
    // The first call of the clock that is ahead is of a new minute.
    expect(made).toBeLessThanOrEqual(6);
  });
});

describe('tokens of a day', () => {
  const limits = { tokensPerDayMax: 10 };
  test('beyond the budget wait for the next day', () => {
    const state = admitted(NO_CALLS, { limits, tokens: 8 });
    expect(ask(state, { limits, tokens: 3 }).refusal).toEqual({
      reason: 'budget_spent',
      retryAfterMs: DAY / 2,
    });
    expect(admitted(state, { limits, tokens: 2 })).toMatchObject({ tokens: 10 });
    expect(admitted(state, { limits, tokens: 3, now: NOW + DAY / 2 })).toMatchObject({ tokens: 3 });
  });

  test('a clock that is days behind gets no new budget', () => {
    const state = admitted(NO_CALLS, { limits, tokens: 8 });
    for (const days of [1, 2, 400])
      expect(ask(state, { limits, tokens: 3, now: NOW - days * DAY }).refusal).toMatchObject({
        reason: 'budget_spent',
      });
  });

  test('an instance whose clock was far ahead keeps the others from their budget for a day at most', () => {
    let state = admitted(NO_CALLS, { limits, tokens: 10, now: NOW + 400 * DAY });
    const refused = ask(state, { limits });
    expect(refused.refusal).toEqual({ reason: 'budget_spent', retryAfterMs: DAY / 2 });
    state = refused.state;
    expect(admitted(state, { limits, now: NOW + DAY / 2 })).toMatchObject({ tokens: 1 });
  });
});

describe('a space', () => {
  const limits = { callsPerMinute: 5, tokensPerDayMax: 100, spaceSharePercent: 50 };

  test('has its share of the calls, rounded up, and leaves the rest to others', () => {
    let state = NO_CALLS;
    for (let each = 0; each < 3; each += 1) state = admitted(state, { limits });
    expect(ask(state, { limits }).refusal).toEqual({ reason: 'space_rate_limited', retryAfterMs: MINUTE });
    state = admitted(admitted(state, { limits, space: 'b' }), { limits, space: 'b' });
    expect(ask(state, { limits, space: 'b' }).refusal).toMatchObject({ reason: 'rate_limited' });
    expect(admitted(state, { limits, now: NOW + MINUTE })).toMatchObject({ calls: 1 });
  });

  test('has at least one call', () => {
    const state = admitted(NO_CALLS, { limits: { ...limits, callsPerMinute: 1, spaceSharePercent: 1 } });
    expect(state.calls).toBe(1);
  });

  test('has its share of the tokens of a day', () => {
    const state = admitted(NO_CALLS, { limits, tokens: 50 });
    const later = { limits, now: NOW + MINUTE };
    expect(ask(state, later).refusal).toMatchObject({ reason: 'space_budget_spent' });
    expect(admitted(state, { ...later, space: 'b', tokens: 50 })).toMatchObject({ tokens: 100 });
    expect(admitted(state, { ...later, now: NOW + DAY, tokens: 50 })).toMatchObject({ tokens: 50 });
  });

  test('is no matter for a call of the service itself', () => {
    const state = admitted(NO_CALLS, { limits, space: null, tokens: 100 });
    expect(state.spaces).toEqual([]);
  });

  test('shares its count with others where there are very many, in a record of bounded size', () => {
    const many = { ...limits, callsPerMinute: 1_000, tokensPerDayMax: 1_000_000, spaceSharePercent: 1 };
    let state = NO_CALLS;
    const refused: string[] = [];
    for (let each = 0; each < 100; each += 1) {
      const answer = ask(state, { limits: many, space: `space ${each}` });
      state = answer.state;
      if (answer.refusal !== null) refused.push(answer.refusal.reason);
    }
    expect(state.spaces).toHaveLength(SPACES_MAX + 1);
    expect(state.spaces.find(({ tag }) => tag === OTHERS)?.calls).toBe(10);
    expect(refused).toEqual(Array(100 - SPACES_MAX - 10).fill('space_rate_limited'));
    // A space without calls in this minute gives up its place: that with the fewest tokens.
    const next = admitted(state, { limits: many, space: 'new', now: NOW + MINUTE });
    expect(next.spaces.find(({ tag }) => tag === 'new')).toMatchObject({ calls: 1, tokens: 1 });
  });
});

describe('a provider that fails', () => {
  test('for several spaces is left alone after some failures in a row, and then one call tries', () => {
    admitted(failing(FAILURES_MAX - 1, ['a', 'b']), { space: 'c' });
    const resting = failing(FAILURES_MAX, ['a', 'b']);
    for (const space of ['a', 'c', null])
      expect(ask(resting, { space }).refusal).toEqual({ reason: 'circuit_open', retryAfterMs: REST_MS });
    const over = { now: NOW + REST_MS, space: 'c' };
    const trial = admitted(resting, over);
    expect(ask(trial, over).refusal).toMatchObject({ reason: 'circuit_open' });
    const ended = { space: 'c', now: NOW + REST_MS };
    expect(callEnded(trial, { ...ended, failure: null })).toMatchObject({ failures: 0, restsUntil: null });
    expect(callEnded(trial, { ...ended, failure: 'timeout' })).toMatchObject({
      restsUntil: NOW + 2 * REST_MS,
    });
  });

  test('for one space is left alone by this space', () => {
    const resting = failing(20, ['a']);
    expect(ask(resting).refusal).toEqual({ reason: 'circuit_open', retryAfterMs: REST_MS });
    const other = admitted(resting, { space: 'b' });
    const trial = admitted(resting, { now: NOW + REST_MS });
    expect(ask(trial, { now: NOW + REST_MS }).refusal).toMatchObject({ reason: 'circuit_open' });
    // What works for another says nothing about the requests of this one.
    const works = callEnded(other, { failure: null, space: 'b', now: NOW });
    expect(ask(works).refusal).toMatchObject({ reason: 'circuit_open' });
    expect(works).toMatchObject({ failures: 0, failedBy: null });
    const mended = callEnded(trial, { failure: null, space: 'a', now: NOW });
    expect(admitted(mended)).toBe(mended);
  });

  test('is left alone no longer than a rest by an instance whose clock is behind', () => {
    admitted(failing(FAILURES_MAX, ['a', 'b']), { now: NOW - 1 });
  });

  test.each(['auth', 'schema', 'configuration', 'unknown'] as const)(
    'is there where it refuses: %s',
    (failure) => {
      const state = failing(FAILURES_MAX - 1, ['a', 'b']);
      expect(callEnded(state, { failure, space: 'a', now: NOW }).failures).toBe(0);
      let refusing = NO_CALLS;
      for (let each = 0; each < 20; each += 1)
        refusing = callEnded(refusing, { failure, space: each % 2 === 0 ? 'a' : 'b', now: NOW });
      expect(refusing).toBe(NO_CALLS);
    },
  );

  test('is not known by a cancelled call, and a success without failures before it changes nothing', () => {
    const state = failing(2);
    expect(callEnded(state, { failure: 'cancelled', space: 'a', now: NOW })).toBe(state);
    expect(callEnded(NO_CALLS, { failure: null, space: 'a', now: NOW })).toBe(NO_CALLS);
  });

  test('for very many spaces has a record of bounded size, and their places are free the next day', () => {
    let state = NO_CALLS;
    for (let each = 0; each < 100; each += 1)
      state = callEnded(state, { failure: 'timeout', space: `space ${each}`, now: NOW });
    expect(state.spaces).toHaveLength(SPACES_MAX + 1);
    const next = callEnded(state, { failure: 'timeout', space: 'new', now: NOW + DAY });
    expect(next.spaces.map(({ tag }) => tag)).toEqual(['new']);
  });
});
