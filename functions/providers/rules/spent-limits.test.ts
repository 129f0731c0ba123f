import { expect, test } from 'vitest';
import { admitCall, type GuardLimits, NO_CALLS } from './guard.ts';
import { spentOf } from './spent-limits.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const limits: GuardLimits = { callsPerMinute: 5, tokensPerDayMax: 1_000, spaceSharePercent: 50 };

/** After two calls of one space and one of another. */
function after(own: GuardLimits) {
  return ['a', 'a', 'b'].reduce(
    (state, space) => admitCall(state, own, { space, tokens: 100, now: NOON }).state,
    NO_CALLS,
  );
}

test('a space sees its own part of the limits, and nothing of the others', () => {
  const state = after(limits);
  const seen = (space: string, now = NOON) => spentOf(state, limits, { space, now });
  expect(seen('a')).toEqual({
    callsOfMinute: { used: 2, max: 3, resetsAt: NOON + MINUTE },
    tokensOfDay: { used: 200, max: 500, resetsAt: NOON + 12 * 60 * MINUTE },
  });
  expect(seen('b')).toMatchObject({ callsOfMinute: { used: 1 }, tokensOfDay: { used: 100 } });
  expect(seen('c')).toMatchObject({ callsOfMinute: { used: 0 }, tokensOfDay: { used: 0 } });
});

test('a new minute has no calls, and the day continues', () => {
  const seen = spentOf(after(limits), limits, { space: 'a', now: NOON + MINUTE });
  expect(seen).toMatchObject({ callsOfMinute: { used: 0 }, tokensOfDay: { used: 200 } });
});

test('spaces that share everything see everything', () => {
  const shared = { ...limits, spaceSharePercent: 100 };
  expect(spentOf(after(shared), shared, { space: 'c', now: NOON })).toMatchObject({
    callsOfMinute: { used: 3, max: 5 },
    tokensOfDay: { used: 300, max: 1_000 },
  });
});

test('a limit that there is not is null', () => {
  const none = { callsPerMinute: null, tokensPerDayMax: null, spaceSharePercent: 50 };
  expect(spentOf(NO_CALLS, none, { space: 'a', now: NOON })).toEqual({
    callsOfMinute: null,
    tokensOfDay: null,
  });
});
