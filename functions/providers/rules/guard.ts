import type { FailureClass } from '../failure.ts';
import { type Periods, periodOf } from './periods.ts';
import { countOf, countsOfPeriod, type SpaceCounts, withCount } from './space-counts.ts';

/** Whether a provider may be called, by what all instances of the service know of it. Pure: `now` is in milliseconds since 1970. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Failures in a row after which the provider is left alone. */
export const FAILURES_MAX = 5;
/** So long. Then one call tries. */
export const REST_MS = 30_000;
/** Calls of several spaces have failed in a row. */
const SEVERAL = 'several';

export interface GuardLimits {
  /** `null`: without this limit. */
  readonly callsPerMinute: number | null;
  /** Tokens of the calls of a day of UTC. `null`: without this limit. */
  readonly tokensPerDayMax: number | null;
  /** The part of both limits that one space may have, from 1 to 100. */
  readonly spaceSharePercent: number;
}

/** What is stored of a provider. */
export interface GuardState {
  /** The minutes in which the calls are counted. */
  readonly minutes: Periods;
  readonly calls: number;
  /** The days of UTC in which the tokens are counted. */
  readonly days: Periods;
  readonly tokens: number;
  /** Calls in a row that failed, of all spaces. */
  readonly failures: number;
  /** The only space whose calls these are; `null` where there are none. */
  readonly failedBy: string | null;
  /** Until then no call is made; `null` while calls are made. */
  readonly restsUntil: number | null;
  readonly spaces: SpaceCounts;
}

export const NO_CALLS: GuardState = {
  minutes: [],
  calls: 0,
  days: [],
  tokens: 0,
  failures: 0,
  failedBy: null,
  restsUntil: null,
  spaces: [],
};

export interface GuardedRequest {
  /** The tag of the space that the call is for; `null`: the call has no share. */
  readonly space: string | null;
  readonly tokens: number;
  readonly now: number;
}

/** Why a call is not made, and after how long another may be. */
export interface GuardRefusal {
  readonly reason:
    | 'rate_limited'
    | 'budget_spent'
    | 'space_rate_limited'
    | 'space_budget_spent'
    | 'circuit_open';
  readonly retryAfterMs: number;
}

export interface GuardAnswer {
  /** To be stored, also with a refusal, where it is another object than before. */
  readonly state: GuardState;
  /** `null`: the call is admitted and counted. */
  readonly refusal: GuardRefusal | null;
}

/** Admits a call and counts it, or says why not. A refused call counts nothing, nor does a call without limits. */
export function admitCall(state: GuardState, limits: GuardLimits, request: GuardedRequest): GuardAnswer {
  const { space, tokens, now } = request;
  const count = space === null ? null : countOf(state.spaces, space);
  const rest = Math.max(restOf(state.restsUntil, now), restOf(count?.restsUntil ?? null, now));
  if (rest > 0) return { state, refusal: { reason: 'circuit_open', retryAfterMs: rest } };
  const { callsPerMinute, tokensPerDayMax } = limits;
  const isTrial = state.restsUntil !== null;
  const isTrialOfSpace = count !== null && count.restsUntil !== null;
  // Each count is a write that all instances contend for.
  if (callsPerMinute === null && tokensPerDayMax === null && !isTrial && !isTrialOfSpace)
    return { state, refusal: null };
  const current = inPeriods(state, now);
  const refusal = refusalOf(current, limits, request);
  if (refusal !== null) return { state: current.isChanged ? current.state : state, refusal };
  const trialEnds = now + REST_MS;
  const own = space === null ? null : countOf(current.state.spaces, space);
  const counted = own !== null && (limits.spaceSharePercent < 100 || isTrialOfSpace);
  return {
    state: {
      ...current.state,
      calls: current.state.calls + 1,
      tokens: current.state.tokens + tokens,
      // The first call after a rest tries the provider for all others.
      restsUntil: isTrial ? trialEnds : null,
      spaces: counted
        ? withCount(current.state.spaces, {
            ...own,
            calls: own.calls + 1,
            tokens: own.tokens + tokens,
            restsUntil: isTrialOfSpace ? trialEnds : null,
          })
        : current.state.spaces,
    },
    refusal: null,
  };
}

/** How long the rest goes on. A clock that is far behind must not leave the provider alone for longer than a rest. */
function restOf(restsUntil: number | null, now: number): number {
  const rest = restsUntil === null ? 0 : restsUntil - now;
  return rest > REST_MS ? 0 : Math.max(0, rest);
}

/** What is stored in the periods of a moment. */
export interface CurrentState {
  readonly state: GuardState;
  /** Another clock or period than those that are stored. */
  readonly isChanged: boolean;
  readonly minuteEndsAfterMs: number;
  readonly dayEndsAfterMs: number;
}

export function inPeriods(state: GuardState, now: number): CurrentState {
  const minute = periodOf(state.minutes, now, MINUTE_MS);
  const day = periodOf(state.days, now, DAY_MS);
  const begun = { ...(minute.isNew ? { calls: 0 } : {}), ...(day.isNew ? { tokens: 0 } : {}) };
  // The failures of a space that does not come back would keep its place for ever.
  const ofSpaces = day.isNew ? { ...begun, failures: 0, restsUntil: null } : begun;
  return {
    state: {
      ...state,
      ...begun,
      minutes: minute.known,
      days: day.known,
      spaces: countsOfPeriod(state.spaces, ofSpaces),
    },
    isChanged: minute.known !== state.minutes || day.known !== state.days,
    minuteEndsAfterMs: minute.endsAfterMs,
    dayEndsAfterMs: day.endsAfterMs,
  };
}

function refusalOf(
  { state, minuteEndsAfterMs, dayEndsAfterMs }: CurrentState,
  { callsPerMinute, tokensPerDayMax, spaceSharePercent }: GuardLimits,
  { space, tokens }: GuardedRequest,
): GuardRefusal | null {
  const own = space === null ? { calls: 0, tokens: 0 } : countOf(state.spaces, space);
  const percent = space === null ? 100 : spaceSharePercent;
  const shareOf = (limit: number) => shareIn(limit, percent);
  if (callsPerMinute !== null) {
    const after = { retryAfterMs: minuteEndsAfterMs };
    if (state.calls >= callsPerMinute) return { reason: 'rate_limited', ...after };
    if (own.calls >= shareOf(callsPerMinute)) return { reason: 'space_rate_limited', ...after };
  }
  if (tokensPerDayMax !== null) {
    const after = { retryAfterMs: dayEndsAfterMs };
    if (state.tokens + tokens > tokensPerDayMax) return { reason: 'budget_spent', ...after };
    if (own.tokens + tokens > shareOf(tokensPerDayMax)) return { reason: 'space_budget_spent', ...after };
  }
  return null;
}

/** The part of a limit that one space may have: never nothing. */
export function shareIn(limit: number, percent: number): number {
  return Math.ceil((limit * percent) / 100);
}

/** Whether a success of a call for this space is news. */
export function hasFailed(state: GuardState, space: string | null): boolean {
  return state.failures > 0 || (space !== null && countOf(state.spaces, space).failures > 0);
}

export interface CallEnd {
  /** `null`: the call succeeded. */
  readonly failure: FailureClass | null;
  readonly space: string | null;
  readonly now: number;
}

/**
 * The state after a call has ended; the same object where nothing changes. What the provider says about one request counts for
 * nobody. Calls of one space that fail leave the provider alone for this space; those of two, for all.
 */
export function callEnded(state: GuardState, { failure, space, now }: CallEnd): GuardState {
  if (failure === 'cancelled') return state;
  if (failure === null || !isOfProvider(failure)) return withoutFailures(state, space);
  const restAfter = (failures: number) => (failures < FAILURES_MAX ? null : now + REST_MS);
  const { state: current } = inPeriods(state, now);
  const failures = Math.min(current.failures + 1, FAILURES_MAX);
  const failedBy = space === null || (current.failedBy ?? space) !== space ? SEVERAL : space;
  const restsUntil = failedBy === SEVERAL ? restAfter(failures) : null;
  if (space === null) return { ...current, failures, failedBy, restsUntil };
  const own = countOf(current.spaces, space);
  const ownFailures = Math.min(own.failures + 1, FAILURES_MAX);
  const count = { ...own, failures: ownFailures, restsUntil: restAfter(ownFailures) };
  return { ...current, failures, failedBy, restsUntil, spaces: withCount(current.spaces, count) };
}

/** A provider that answers is there, also where it refuses the request. */
function withoutFailures(state: GuardState, space: string | null): GuardState {
  if (!hasFailed(state, space) && state.restsUntil === null) return state;
  const own = space === null ? null : countOf(state.spaces, space);
  const spaces =
    own === null || own.failures === 0
      ? state.spaces
      : withCount(state.spaces, { ...own, failures: 0, restsUntil: null });
  return { ...state, failures: 0, failedBy: null, restsUntil: null, spaces };
}

/** Whether a failure of this class says that other calls would fail too. */
function isOfProvider(failure: FailureClass): boolean {
  return ['network', 'provider_unavailable', 'rate_limit', 'timeout'].includes(failure);
}
