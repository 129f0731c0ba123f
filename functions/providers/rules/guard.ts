import {
  afterCall,
  type CallEnd,
  type Circuit,
  claimed,
  isTrialOf,
  restFor,
  withoutOldFailures,
} from './circuit.ts';
import { type Periods, periodOf } from './periods.ts';
import { countOf, countsOfPeriod, OTHERS, withCount } from './space-counts.ts';

/**
 * Whether a provider may be called, by the state that all instances of the service share. Pure: `now` is in
 * milliseconds since 1970.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface GuardLimits {
  /** `null`: without this limit. */
  readonly callsPerMinute: number | null;
  /** Tokens of the calls of a day of UTC. `null`: without this limit. */
  readonly tokensPerDayMax: number | null;
  /** The part of both limits that one space may have, from 1 to 100. */
  readonly spaceSharePercent: number;
}

/** The stored state of a provider. */
export interface GuardState extends Circuit {
  /** The minutes in which the calls are counted. */
  readonly minutes: Periods;
  readonly calls: number;
  /** The days of UTC in which the tokens are counted. */
  readonly days: Periods;
  readonly tokens: number;
}

export const NO_CALLS: GuardState = {
  minutes: [],
  calls: 0,
  days: [],
  tokens: 0,
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
  /** To be stored, also with a refusal, when it is another object than before. */
  readonly state: GuardState;
  /** `null`: the call is admitted and counted. */
  readonly refusal: GuardRefusal | null;
  /** The call tries the provider after a rest: how it ends has to be noted. */
  readonly isTrial: boolean;
}

/**
 * Admits a call and counts it, or answers the reason of the refusal. A refused call is not counted, nor is a call
 * without limits.
 */
export function admitCall(state: GuardState, limits: GuardLimits, request: GuardedRequest): GuardAnswer {
  const { space, tokens, now } = request;
  const known = withoutOldFailures(state, now);
  const rest = restFor(known, space, now);
  if (rest > 0) return refused(state, { reason: 'circuit_open', retryAfterMs: rest });
  const { callsPerMinute, tokensPerDayMax } = limits;
  const isTrial = isTrialOf(known, space);
  // Each count is a write that all instances contend for.
  if (callsPerMinute === null && tokensPerDayMax === null && !isTrial)
    return { state, refusal: null, isTrial };
  const current = inPeriods(known, now);
  const refusal = refusalOf(current, limits, request);
  if (refusal !== null) return refused(current.isChanged ? current.state : state, refusal);
  const counted = {
    ...current.state,
    calls: current.state.calls + 1,
    tokens: current.state.tokens + tokens,
    spaces: spacesWith(current.state, limits, request),
  };
  return { state: isTrial ? claimed(counted, space, now) : counted, refusal: null, isTrial };
}

function refused(state: GuardState, refusal: GuardRefusal): GuardAnswer {
  return { state, refusal, isTrial: false };
}

function spacesWith({ spaces }: GuardState, limits: GuardLimits, { space, tokens }: GuardedRequest) {
  if (space === null || limits.spaceSharePercent === 100) return spaces;
  const own = countOf(spaces, space);
  return withCount(spaces, { ...own, calls: own.calls + 1, tokens: own.tokens + tokens });
}

/** The stored state, moved to the periods of a moment. */
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
  return {
    state: {
      ...state,
      ...begun,
      minutes: minute.known,
      days: day.known,
      spaces: countsOfPeriod(state.spaces, begun),
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

export interface GuardedEnd extends CallEnd {
  /** Used beyond those counted, less where negative. */
  readonly moreTokens?: number;
  /** Tokens reported beyond the possible use of the call: they count to the space alone. */
  readonly excessTokens?: number;
}

/** The state after a call has ended; the same object where nothing changes. */
export function callEnded(
  state: GuardState,
  { moreTokens = 0, excessTokens = 0, ...end }: GuardedEnd,
): GuardState {
  const known = withoutOldFailures(state, end.now);
  const after = afterCall(known, end);
  if (moreTokens === 0 && excessTokens === 0)
    return after === known ? state : inPeriods(after, end.now).state;
  const current = inPeriods(after, end.now).state;
  const counted = { ...current, ...withTokens(current, end.space, moreTokens) };
  return { ...counted, spaces: spacesWithExcess(counted, end.space, excessTokens) };
}

/** A new day may have begun since the tokens were counted: then there are none to subtract. */
function withTokens({ tokens, spaces }: GuardState, space: string | null, more: number) {
  const own = space === null ? null : countOf(spaces, space);
  const isCounted = own !== null && own.tokens > 0;
  return {
    tokens: Math.max(0, tokens + more),
    spaces: isCounted ? withCount(spaces, { ...own, tokens: Math.max(0, own.tokens + more) }) : spaces,
  };
}

/**
 * The excess counts to the space alone, and not to the budget of the day that all spaces share. Spaces that share one count
 * (`OTHERS`) are not charged for each other.
 */
function spacesWithExcess({ spaces }: GuardState, space: string | null, excess: number) {
  const own = space === null || excess === 0 ? null : countOf(spaces, space);
  if (own === null || own.tag === OTHERS) return spaces;
  return withCount(spaces, { ...own, tokens: Math.min(own.tokens + excess, Number.MAX_SAFE_INTEGER) });
}
