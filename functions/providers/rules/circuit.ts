import type { FailureClass } from '../failure.ts';
import { countOf, type ProviderSpaceCount, type ProviderSpaceCounts, withCount } from './space-counts.ts';

/**
 * Whether the calls to a failing provider pause: those of one space, or all. Pure: `now` is in milliseconds since 1970.
 *
 * A space whose calls fail pauses its own calls. One space cannot pause the calls of another: all calls pause only when
 * several spaces have several failures each, all of them since the last answer to any space. After the pause each space
 * tries with one call.
 */

/**
 * Failures in a row after which the calls of a space pause.
 * @testonly
 */
export const FAILURES_MAX = 5;
/**
 * So long. Then one call of the space tries.
 * @testonly
 */
export const REST_MS = 30_000;
/** All calls pause when this many spaces have this many failures each, without an answer to any space. */
const FAILING_SPACES = 2;
/** @testonly */
export const FAILURES_EACH = 3;
/**
 * Older failures say nothing about the provider of today.
 * @testonly
 */
export const FAILURE_AGE_MS = 300_000;

/** Names the calls of the service itself, which are of no space. No tag of a space is so short. */
const SERVICE = '-';

export interface Circuit {
  /**
   * No call is made before this time. After it, each space makes one call at a time, until the provider answers one. `null`: calls
   * are not held back.
   */
  readonly restsUntil: number | null;
  readonly spaces: ProviderSpaceCounts;
}

function failuresOf({ spaces }: Circuit, space: string | null): ProviderSpaceCount {
  return countOf(spaces, space ?? SERVICE);
}

/**
 * The circuit without failures that are too old, or were written by a clock that is far ahead; the same object without
 * a change.
 */
export function withoutOldFailures<C extends Circuit>(circuit: C, now: number): C {
  const isOld = (moment: number | null) => moment !== null && Math.abs(now - moment) > FAILURE_AGE_MS;
  // A claim of a space that has not failed ends with its time.
  const isOver = ({ failedAt, restsUntil }: ProviderSpaceCount) =>
    isOld(failedAt) || (failedAt === null && restsUntil !== null && restOf(restsUntil, now) === 0);
  const restsUntil = isOld(circuit.restsUntil) ? null : circuit.restsUntil;
  if (restsUntil === circuit.restsUntil && !circuit.spaces.some(isOver)) return circuit;
  const spaces = circuit.spaces.map((each) => (isOver(each) ? { ...each, ...NO_FAILURES } : each));
  return { ...circuit, restsUntil, spaces };
}

const NO_FAILURES = { failures: 0, unanswered: 0, failedAt: null, restsUntil: null } as const;

/** How long a call of the space has to wait for the rest, or for a call that tries. */
export function restFor(circuit: Circuit, space: string | null, now: number): number {
  return Math.max(restOf(circuit.restsUntil, now), restOf(failuresOf(circuit, space).restsUntil, now));
}

/** A clock that is far behind must not extend the pause. */
function restOf(restsUntil: number | null, now: number): number {
  const rest = restsUntil === null ? 0 : restsUntil - now;
  return rest > REST_MS ? 0 : Math.max(0, rest);
}

/** Whether the next call of the space tries the provider after a rest. */
export function isTrialOf(circuit: Circuit, space: string | null): boolean {
  return circuit.restsUntil !== null || failuresOf(circuit, space).restsUntil !== null;
}

/** Other calls of the space wait for this one that tries. */
export function claimed<C extends Circuit>(circuit: C, space: string | null, now: number): C {
  const own = { ...failuresOf(circuit, space), restsUntil: now + REST_MS };
  return { ...circuit, spaces: withCount(circuit.spaces, own) };
}

/** Whether a success of a call for this space is news. */
export function hasFailed(circuit: Circuit, space: string | null): boolean {
  const own = failuresOf(circuit, space);
  return (
    circuit.restsUntil !== null ||
    own.failures > 0 ||
    own.restsUntil !== null ||
    circuit.spaces.some(({ unanswered }) => unanswered > 0)
  );
}

export interface CallEnd {
  /** `null`: the call succeeded. */
  readonly failure: FailureClass | null;
  readonly space: string | null;
  /** The call was one that tries. */
  readonly isTrial: boolean;
  readonly now: number;
}

/** The circuit after a call; the same object without a change. A refusal of one request by the provider is no failure. */
export function afterCall<C extends Circuit>(circuit: C, { failure, space, isTrial, now }: CallEnd): C {
  if (failure === 'cancelled') return isTrial ? givenBack(circuit, space, now) : circuit;
  if (failure === null || !isOfProvider(failure)) return answered(circuit, space);
  const own = failuresOf(circuit, space);
  const failures = Math.min(own.failures + 1, FAILURES_MAX);
  const unanswered = Math.min(own.unanswered + 1, FAILURES_EACH);
  const restsUntil = isTrial || failures === FAILURES_MAX ? now + REST_MS : own.restsUntil;
  const spaces = withCount(circuit.spaces, { ...own, failures, unanswered, failedAt: now, restsUntil });
  const isOfAll = spaces.filter((each) => each.unanswered >= FAILURES_EACH).length >= FAILING_SPACES;
  return { ...circuit, restsUntil: circuit.restsUntil ?? (isOfAll ? now + REST_MS : null), spaces };
}

/** The trial ended without an answer, so the next call of the space tries the provider. */
function givenBack<C extends Circuit>(circuit: C, space: string | null, now: number): C {
  const own = failuresOf(circuit, space);
  const restsUntil = own.failures > 0 ? now : null;
  return { ...circuit, spaces: withCount(circuit.spaces, { ...own, restsUntil }) };
}

/**
 * An answer shows that the provider is reachable, also when it refuses the request. It does not clear the pause of a
 * space whose own calls failed repeatedly.
 */
function answered<C extends Circuit>(circuit: C, space: string | null): C {
  if (!hasFailed(circuit, space)) return circuit;
  const { tag } = failuresOf(circuit, space);
  const spaces = circuit.spaces.map((each) => {
    if (each.tag === tag) return { ...each, ...NO_FAILURES };
    const restsUntil = each.failures < FAILURES_MAX ? null : each.restsUntil;
    return { ...each, unanswered: 0, restsUntil };
  });
  return { ...circuit, restsUntil: null, spaces };
}

/** Whether a failure of this class suggests that other calls would fail too. */
function isOfProvider(failure: FailureClass): boolean {
  return ['network', 'provider_unavailable', 'rate_limit', 'timeout'].includes(failure);
}
