import type { Clock } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';
import { type FailureClass, ProviderFailure } from './failure.ts';
import { GUARD_SCOPE, guardKey, headOf, spaceTag, stateIn } from './guard-record.ts';
import { hasFailed } from './rules/circuit.ts';
import { admitCall, callEnded, type GuardLimits, type GuardRefusal } from './rules/guard.ts';

export interface GuardParts {
  readonly store: () => Promise<RecordStore>;
  readonly clock: Clock;
  /** The id of the provider in the settings. */
  readonly provider: string;
  readonly limits: GuardLimits;
}

/** One call of a provider, which may need several requests. */
interface GuardedCall {
  /** The space of the call; `null`: the call counts to no space's share of the limits. */
  readonly space: string | null;
  /** Tokens of each request, estimated where the number is unknown. */
  readonly tokens: number;
}

/**
 * Counts one request before it is sent, with its own tokens if they are known. Throws a `ProviderFailure` when the
 * request may not be sent now.
 */
type Admit = (tokens?: number) => Promise<void>;

/**
 * Gets the tokens that the provider reports for the last admitted request. They replace the estimate of the guard.
 * Tokens beyond the possible use of the request are the excess: they count to the space of the call alone.
 */
type Used = (tokens: number, excess?: number) => void;

/** Keeps the calls of one provider within limits that all instances of the service share. */
export interface ProviderGuard {
  /**
   * Does the work of a call. The work awaits `admit` before each request to the provider, and calls `used` with the
   * reported usage of each answer, also of an unusable one: it is paid for as well. Records the outcome of the call for
   * all instances. Throws the error of the work.
   */
  within<Result>(call: GuardedCall, work: (admit: Admit, used: Used) => Promise<Result>): Promise<Result>;
}

export function providerGuard(parts: GuardParts): ProviderGuard {
  return {
    async within({ space, tokens }, work) {
      const tag = space === null ? null : spaceTag(parts.provider, space);
      const sent: Sent = {
        isSent: false,
        isNews: false,
        isTrial: false,
        tokens: 0,
        moreTokens: 0,
        excessTokens: 0,
      };
      const admit = async (own = tokens) => {
        const { isNews, isTrial } = await enterCall(parts, { space: tag, tokens: own });
        Object.assign(sent, { isSent: true, isNews, isTrial: isTrial || sent.isTrial, tokens: own });
      };
      const used = (reported: number, excess = 0) => {
        sent.moreTokens += reported - sent.tokens;
        sent.tokens = reported;
        sent.excessTokens += excess;
      };
      // The result was paid for: it matters more than a store that cannot note how the call ended.
      const note = (failure: FailureClass | null) => {
        const noted = tokensToNote(parts.limits, sent);
        return leaveCall(parts, { space: tag, failure, isTrial: sent.isTrial, ...noted }).catch(
          () => undefined,
        );
      };
      const hasTokens = () => {
        const { moreTokens, excessTokens } = tokensToNote(parts.limits, sent);
        return moreTokens !== 0 || excessTokens !== 0;
      };
      try {
        const result = await work(admit, used);
        if (sent.isNews || hasTokens()) await note(null);
        return result;
      } catch (error) {
        if (sent.isSent && error instanceof ProviderFailure) await note(error.failureClass);
        // Any other failure says nothing about the provider: note its tokens, and end the trial so that other calls need not wait.
        else if (sent.isTrial || hasTokens()) await note('cancelled');
        throw error;
      }
    },
  };
}

interface Sent {
  isSent: boolean;
  /** Calls before this one have failed, so that its success is news. */
  isNews: boolean;
  isTrial: boolean;
  /** Counted for the last request. */
  tokens: number;
  /** Used beyond those counted for all requests, as far as it was reported; less where negative. */
  moreTokens: number;
  /** Tokens reported beyond the possible use of the requests. */
  excessTokens: number;
}

/** Tokens are counted only where the settings have a budget; elsewhere the guard writes nothing more. */
function tokensToNote({ tokensPerDayMax }: GuardLimits, { isSent, moreTokens, excessTokens }: Sent) {
  const isCounted = tokensPerDayMax !== null && isSent;
  return isCounted ? { moreTokens, excessTokens } : { moreTokens: 0, excessTokens: 0 };
}

async function enterCall(
  { store, clock, provider, limits }: GuardParts,
  request: { readonly space: string | null; readonly tokens: number },
): Promise<Pick<Sent, 'isNews' | 'isTrial'>> {
  const key = guardKey(provider);
  const now = clock.now();
  const { state, refusal, isTrial } = await (await store()).transact(
    GUARD_SCOPE,
    { keys: [{ key }] },
    (found) => {
      const before = stateIn(found.get(key)?.head);
      const answer = admitCall(before, limits, { ...request, now });
      const isWritten = answer.state !== before;
      return { writes: isWritten ? [{ put: { key, head: headOf(answer.state) } }] : [], result: answer };
    },
  );
  if (refusal !== null) throw failureOf(refusal);
  return { isNews: hasFailed(state, request.space), isTrial };
}

async function leaveCall(
  { store, clock, provider }: GuardParts,
  end: {
    readonly space: string | null;
    readonly failure: FailureClass | null;
    readonly isTrial: boolean;
    readonly moreTokens: number;
    readonly excessTokens: number;
  },
): Promise<void> {
  const key = guardKey(provider);
  const now = clock.now();
  await (await store()).transact(GUARD_SCOPE, { keys: [{ key }] }, (found) => {
    const before = stateIn(found.get(key)?.head);
    const after = callEnded(before, { ...end, now });
    return { writes: after === before ? [] : [{ put: { key, head: headOf(after) } }], result: null };
  });
}

const refusals: Readonly<
  Record<GuardRefusal['reason'], readonly [FailureClass, string, isOfGuard: boolean]>
> = {
  rate_limited: ['rate_limit', 'The provider was called as often as the settings allow in a minute.', true],
  space_rate_limited: [
    'rate_limit',
    'The caller has called the provider as often as the settings allow one space in a minute.',
    true,
  ],
  budget_spent: ['quota', 'The provider was sent as many tokens as the settings allow in a day.', true],
  space_budget_spent: [
    'quota',
    'The caller has sent the provider as many tokens as the settings allow one space in a day.',
    true,
  ],
  circuit_open: ['provider_unavailable', 'The provider has failed several times and is left alone.', false],
};

function failureOf({ reason, retryAfterMs }: GuardRefusal): ProviderFailure {
  const [failureClass, message, isOfGuard] = refusals[reason];
  return new ProviderFailure(failureClass, reason, message, { isRetryable: true, retryAfterMs, isOfGuard });
}
