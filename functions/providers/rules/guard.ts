import type { FailureClass } from '../failure.ts';

/** Whether a provider may be called, by what all instances of the service know of it. Pure: `now` is in milliseconds since 1970. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Failures in a row after which the provider is left alone. */
export const FAILURES_MAX = 5;
/** So long. Then one call tries. */
export const REST_MS = 30_000;

/** `null`: without this limit. */
export interface GuardLimits {
  readonly callsPerMinute: number | null;
  /** Tokens of the calls of a day of UTC. */
  readonly tokensPerDayMax: number | null;
}

/** What is stored of a provider. */
export interface GuardState {
  /** When the minute began in which the calls are counted. */
  readonly windowStart: number;
  readonly calls: number;
  /** The day of UTC in which the tokens are counted, in days since 1970. */
  readonly day: number;
  readonly tokens: number;
  /** Calls in a row that failed. */
  readonly failures: number;
  /** Until then no call is made; `null` while calls are made. */
  readonly restsUntil: number | null;
}

export const NO_CALLS: GuardState = {
  windowStart: 0,
  calls: 0,
  day: 0,
  tokens: 0,
  failures: 0,
  restsUntil: null,
};

/** Why a call is not made, and after how long another may be. */
export interface GuardRefusal {
  readonly reason: 'rate_limited' | 'budget_spent' | 'circuit_open';
  readonly retryAfterMs: number;
}

export type GuardAnswer = { readonly state: GuardState } | { readonly refusal: GuardRefusal };

/** Admits a call of so many tokens and counts it, or says why not. A refused call counts nothing, nor does a call without limits. */
export function admitCall(
  state: GuardState,
  limits: GuardLimits,
  { tokens, now }: { readonly tokens: number; readonly now: number },
): GuardAnswer {
  const { restsUntil } = state;
  // A clock that is far behind must not leave the provider alone for longer than a rest.
  if (restsUntil !== null && now < restsUntil && restsUntil - now <= REST_MS)
    return refused('circuit_open', restsUntil - now);
  const { callsPerMinute, tokensPerDayMax } = limits;
  // Each count is a write that all instances contend for.
  if (callsPerMinute === null && tokensPerDayMax === null && restsUntil === null) return { state };
  const window = windowOf(state, now);
  if (callsPerMinute !== null && window.calls >= callsPerMinute)
    return refused('rate_limited', window.windowStart + MINUTE_MS - now);
  const budget = budgetOf(state, now);
  if (tokensPerDayMax !== null && budget.tokens + tokens > tokensPerDayMax)
    return refused('budget_spent', (budget.day + 1) * DAY_MS - now);
  return {
    state: {
      windowStart: window.windowStart,
      calls: window.calls + 1,
      day: budget.day,
      tokens: budget.tokens + tokens,
      failures: state.failures,
      // The first call after a rest tries the provider for all others.
      restsUntil: restsUntil === null ? null : now + REST_MS,
    },
  };
}

function refused(reason: GuardRefusal['reason'], retryAfterMs: number): GuardAnswer {
  return { refusal: { reason, retryAfterMs: Math.max(1, retryAfterMs) } };
}

/** The window of now. A window that lies ahead was counted by another clock, and ends with it. */
function windowOf({ windowStart, calls }: GuardState, now: number) {
  const isOver = now - windowStart >= MINUTE_MS || windowStart - now >= MINUTE_MS;
  return isOver ? { windowStart: now, calls: 0 } : { windowStart, calls };
}

function budgetOf({ day, tokens }: GuardState, now: number) {
  const today = Math.floor(now / DAY_MS);
  return today > day ? { day: today, tokens: 0 } : { day, tokens };
}

/** Whether a failure of this class says that other calls would fail too. */
function isOfProvider(failure: FailureClass): boolean {
  return ['network', 'provider_unavailable', 'rate_limit', 'timeout'].includes(failure);
}

/** The state after a call has ended; the same object where nothing changes. `null`: it succeeded. */
export function callEnded(state: GuardState, failure: FailureClass | null, now: number): GuardState {
  if (failure === null || !isOfProvider(failure)) {
    const isKnownWell = state.failures === 0 && state.restsUntil === null;
    // A provider that refuses one request is there.
    return isKnownWell || failure === 'cancelled' ? state : { ...state, failures: 0, restsUntil: null };
  }
  const failures = Math.min(state.failures + 1, FAILURES_MAX);
  return { ...state, failures, restsUntil: failures < FAILURES_MAX ? null : now + REST_MS };
}
