import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FailureClass } from '../failure.ts';
import { headOf } from '../guard-record.ts';
import { FAILURE_AGE_MS, FAILURES_EACH, FAILURES_MAX, hasFailed, REST_MS } from './circuit.ts';
import { admitCall, callEnded, type GuardLimits, type GuardState, NO_CALLS } from './guard.ts';
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

interface End {
  readonly space?: string | null;
  readonly now?: number;
  readonly isTrial?: boolean;
}

function ended(state: GuardState, failure: FailureClass | null, end: End = {}): GuardState {
  return callEnded(state, { failure, space: 'a', now: NOW, isTrial: false, ...end });
}

/** The given number of failures of each of these spaces. */
function failing(each: number, spaces: readonly (string | null)[] = ['a'], before = NO_CALLS, now = NOW) {
  let state = before;
  for (let count = 0; count < each; count += 1)
    for (const space of spaces) state = ended(state, 'network', { space, now });
  return state;
}

/** A call of a space from its admission to its end. */
function tried(state: GuardState, failure: FailureClass | null, call: Call): GuardState {
  const { state: begun, refusal, isTrial } = ask(state, call);
  expect(refusal).toBeNull();
  return ended(begun, failure, { ...call, isTrial });
}

const open = { reason: 'circuit_open', retryAfterMs: REST_MS };

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

  test('are never more than the limit in one minute, at any moments of the calls', () => {
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

test.each([{ aheads: [0, 150_000] }, { aheads: [0, 138_000, 276_000, 414_000] }])(
  'clocks that are $aheads ms ahead share one limit of calls, minute after minute',
  ({ aheads }) => {
    const limits = { callsPerMinute: 60 };
    let state = NO_CALLS;
    const made: number[] = [];
    for (let second = 0; second < 1_200; second += 1)
      for (const ahead of aheads)
        for (let call = 0; call < 5; call += 1) {
          const answer = ask(state, { limits, now: NOW + second * 1_000 + ahead });
          state = answer.state;
          const minute = Math.floor(second / 60);
          if (answer.refusal === null) made[minute] = (made[minute] ?? 0) + 1;
        }
    // After the first minutes, in which the clocks appear.
    expect(Math.max(...made.slice(aheads.length))).toBe(60);
    expect(Math.min(...made)).toBe(60);
  },
);

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

  test('an instance whose clock was far ahead keeps the others from their budget for less than two days', () => {
    const { state, refusal } = ask(admitted(NO_CALLS, { limits, tokens: 10, now: NOW + 400 * DAY }), {
      limits,
    });
    expect(refusal).toEqual({ reason: 'budget_spent', retryAfterMs: 1.5 * DAY });
    expect(ask(state, { limits, now: NOW + DAY }).refusal).toMatchObject({ retryAfterMs: DAY / 2 });
    expect(admitted(state, { limits, now: NOW + 1.5 * DAY })).toMatchObject({ tokens: 1 });
  });
});

describe('tokens that the provider reports', () => {
  const limits = { tokensPerDayMax: 100, spaceSharePercent: 50 };
  const end = { failure: null, space: 'a', isTrial: false };
  const counts = ({ tokens, spaces }: GuardState) => [tokens, spaces.find(({ tag }) => tag === 'a')?.tokens];

  test('take the place of those that were counted, for the space too', () => {
    const begun = admitted(admitted(NO_CALLS, { limits, tokens: 10, space: 'b' }), { limits, tokens: 40 });
    expect(counts(begun)).toEqual([50, 40]);
    const less = callEnded(begun, { ...end, now: NOW, moreTokens: -30 });
    expect(counts(less)).toEqual([20, 10]);
    expect(counts(callEnded(less, { ...end, now: NOW, moreTokens: 5 }))).toEqual([25, 15]);
    expect(ask(less, { limits, tokens: 40 }).refusal).toBeNull();
    expect(callEnded(begun, { ...end, now: NOW, moreTokens: 0 })).toBe(begun);
  });

  test.each([50, 100])(
    'beyond what a call can take cost its space alone, with a share of %d %%',
    (spaceSharePercent) => {
      const own = { ...limits, spaceSharePercent };
      const begun = admitted(NO_CALLS, { limits: own, tokens: 10 });
      const after = callEnded(begun, { ...end, now: NOW, excessTokens: 9e15 });
      const twice = callEnded(after, { ...end, now: NOW, moreTokens: 5, excessTokens: 9e15 });
      expect(counts(twice)).toEqual([15, Number.MAX_SAFE_INTEGER]);
      expect(ask(twice, { limits: own }).refusal?.reason).toBe('space_budget_spent');
      expect(ask(twice, { limits: own, space: 'b' }).refusal).toBeNull();
      expect(ask(twice, { limits: own, now: NOW + DAY }).refusal).toBeNull();
      expect(callEnded(begun, { ...end, now: NOW, space: null, excessTokens: 9e15 }).spaces).toEqual(
        begun.spaces,
      );
    },
  );

  test('beyond the possible use of a call are not charged to spaces that share a count', () => {
    let state = NO_CALLS;
    const own = { tokensPerDayMax: 1_000, spaceSharePercent: 50 };
    for (let n = 0; n <= SPACES_MAX; n += 1) state = admitted(state, { limits: own, space: `s${n}` });
    const last = { ...end, space: `s${SPACES_MAX}`, now: NOW, excessTokens: 9e15 };
    expect(ask(callEnded(state, last), { limits: own, space: 'another' }).refusal).toBeNull();
  });

  test('are not subtracted from another day', () => {
    const begun = admitted(NO_CALLS, { limits, tokens: 40 });
    expect(callEnded(begun, { ...end, now: NOW + DAY, moreTokens: -30 }).tokens).toBe(0);
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

  test('does not affect a call of the service itself', () => {
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
    // The space without calls in this minute and with the fewest tokens loses its place.
    const next = admitted(state, { limits: many, space: 'new', now: NOW + MINUTE });
    expect(next.spaces.find(({ tag }) => tag === 'new')).toMatchObject({ calls: 1, tokens: 1 });
  });
});

describe('a provider that fails', () => {
  const resting = failing(FAILURES_EACH, ['a', 'b']);
  const later = NOW + REST_MS;

  test('for several spaces, several times each, stops the calls of all', () => {
    admitted(failing(FAILURES_EACH - 1, ['a', 'b']), { space: 'c' });
    for (const space of ['a', 'c', null]) expect(ask(resting, { space }).refusal).toEqual(open);
  });

  test('is tried after the rest by each space, and works for all once one is answered', () => {
    const first = admitted(resting, { now: later, space: 'c' });
    expect(ask(first, { now: later, space: 'c' }).refusal).toEqual(open);
    const second = admitted(first, { now: later, space: 'd' });
    const works = ended(second, null, { now: later, space: 'c', isTrial: true });
    for (const space of ['a', 'b', 'c', 'd', null])
      expect(admitted(works, { now: later, space })).toBe(works);
  });

  test('in a trial stops the calls of the space of this trial, and another space tries at once', () => {
    const failed = tried(resting, 'timeout', { now: later, space: 'c' });
    expect(ask(failed, { now: later, space: 'c' }).refusal).toEqual(open);
    const works = tried(failed, null, { now: later, space: 'd' });
    admitted(works, { now: later, space: 'c' });
  });

  test('may be tried again at once where a trial was cancelled', () => {
    const cancelled = tried(resting, 'cancelled', { now: later, space: 'c' });
    for (const space of ['c', 'd']) admitted(cancelled, { now: later, space });
    const own = tried(failing(FAILURES_MAX), 'cancelled', { now: later });
    const again = ask(own, { now: later });
    expect(again).toMatchObject({ refusal: null, isTrial: true });
    expect(ask(again.state, { now: later }).refusal).toEqual(open);
  });

  test.each([null, 'a'])('is tried by one call of a space at a time: %s', (space) => {
    const failed = failing(FAILURES_MAX, [space]);
    expect(ask(failed, { space }).refusal).toEqual(open);
    const trial = admitted(failed, { space, now: later });
    expect(ask(trial, { space, now: later }).refusal).toEqual(open);
    // After a process died with its trial, another call may try.
    admitted(trial, { space, now: later + REST_MS });
  });

  test('for one space stops the calls of this space', () => {
    const failed = failing(20, ['a']);
    expect(ask(failed).refusal).toEqual(open);
    // A success of another space says nothing about the requests of this one.
    const works = ended(failed, null, { space: 'b' });
    expect(ask(works).refusal).toEqual(open);
    expect(hasFailed(works, 'b')).toBe(false);
    const mended = tried(works, null, { now: later });
    expect(admitted(mended)).toBe(mended);
  });

  test('repeatedly for one space does not stop the calls of another, also when one of its calls fails', () => {
    let now = NOW;
    let state = failing(20, ['evil']);
    for (let step = 0; step < 2_000; step += 1, now += 1_000) {
      const evil = ask(state, { space: 'evil', now });
      const failure = step % 3 === 0 ? 'cancelled' : 'timeout';
      state = evil.state;
      if (evil.refusal === null) state = ended(state, failure, { space: 'evil', now, isTrial: evil.isTrial });
      state = tried(state, step % 200 === 0 ? 'network' : null, { space: 'good', now });
    }
  });

  test('for two spaces alone does not stop the calls of the others', () => {
    let now = NOW;
    let state = NO_CALLS;
    let refused = 0;
    for (let step = 0; step < 2_000; step += 1, now += 1_000) {
      for (const space of ['evil', 'other evil']) {
        const { refusal, isTrial, state: begun } = ask(state, { space, now });
        state = refusal === null ? ended(begun, 'timeout', { space, now, isTrial }) : begun;
      }
      if (step % 10 > 0) continue;
      const good = ask(state, { space: 'good', now });
      state = good.state;
      if (good.refusal !== null) refused += 1;
      else state = ended(state, null, { space: 'good', now, isTrial: good.isTrial });
    }
    expect(refused).toBeLessThan(10);
  });

  test('is called again when the failures are old, or were written by a clock that is far ahead', () => {
    const old = NOW + FAILURE_AGE_MS + 1;
    const one = failing(20, ['evil']);
    const blip = failing(1, ['good'], one, NOW + 3 * 3_600_000);
    admitted(blip, { space: 'good', now: NOW + 3 * 3_600_000 });
    expect(ask(failing(1, ['a'], failing(FAILURES_MAX - 1), old), { now: old }).refusal).toBeNull();
    expect(ask(resting, { space: 'c', now: old + REST_MS })).toMatchObject({ refusal: null, isTrial: false });
    const ahead = failing(FAILURES_MAX, ['a', 'b'], NO_CALLS, NOW + 400 * DAY);
    expect(ask(ahead)).toMatchObject({ refusal: null, isTrial: false });
  });

  test('stops the calls no longer than a rest for an instance whose clock is behind', () => {
    admitted(resting, { now: NOW - 1 });
  });

  test.each(['auth', 'schema', 'configuration', 'unknown'] as const)(
    'is there where it refuses: %s',
    (failure) => {
      const state = failing(FAILURES_EACH, ['a', 'b']);
      expect(hasFailed(ended(state, failure), 'c')).toBe(false);
      let refusing = NO_CALLS;
      for (let each = 0; each < 20; each += 1)
        refusing = ended(refusing, failure, { space: each % 2 === 0 ? 'a' : 'b' });
      expect(refusing).toBe(NO_CALLS);
    },
  );

  test('is not known by a cancelled call, and a success without failures before it changes nothing', () => {
    const state = failing(2);
    expect(ended(state, 'cancelled')).toBe(state);
    expect(ended(NO_CALLS, null)).toBe(NO_CALLS);
  });

  test('for very many spaces has a record of bounded size, and their places are free soon', () => {
    let state = NO_CALLS;
    for (let each = 0; each < 100; each += 1)
      state = ended(state, 'timeout', { space: `space name ${String(each).padStart(5)}` });
    expect(state.spaces).toHaveLength(SPACES_MAX + 1);
    expect(JSON.stringify(headOf(state)).length).toBeLessThan(4_000);
    const next = ended(state, 'timeout', { space: 'new', now: NOW + FAILURE_AGE_MS + 1 });
    expect(next.spaces.map(({ tag }) => tag)).toEqual(['new']);
  });
});
