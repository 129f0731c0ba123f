import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import { type RecordKey, type RecordStore, StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type FailureClass, ProviderFailure } from './failure.ts';
import {
  admitCall,
  callEnded,
  type GuardLimits,
  type GuardRefusal,
  type GuardState,
  NO_CALLS,
} from './rules/guard.ts';

/** What all instances know of each provider: one record each. */
export const PROVIDER_GUARDS: OwnedCollection = {
  name: 'provider-guards',
  pairedIndexes: false,
  ...SERVICE_DATA,
};
const SCOPE = { kind: 'system', name: 'provider-guards' } as const;

export interface GuardParts {
  readonly store: () => Promise<RecordStore>;
  /** The id of the provider in the settings. */
  readonly provider: string;
  readonly limits: GuardLimits;
}

/**
 * Counts a call before it is made, and answers whether calls before it have failed, so that its success is news. Throws a
 * `ProviderFailure` where the provider may not be called now.
 */
export async function enterCall(parts: GuardParts, tokens: number, now: number): Promise<boolean> {
  const key = guardKey(parts.provider);
  const store = await parts.store();
  const answer = await store.transact(SCOPE, { keys: [{ key }] }, (found) => {
    const state = stateIn(found.get(key)?.head);
    const result = admitCall(state, parts.limits, { tokens, now });
    const isWritten = 'state' in result && result.state !== state;
    return { writes: isWritten ? [{ put: { key, head: { ...result.state } } }] : [], result };
  });
  if ('refusal' in answer) throw failureOf(answer.refusal);
  return answer.state.failures > 0;
}

/** Tells the other instances how a call has ended; `null`: it succeeded. */
export async function leaveCall(parts: GuardParts, failure: FailureClass | null, now: number): Promise<void> {
  const key = guardKey(parts.provider);
  const store = await parts.store();
  await store.transact(SCOPE, { keys: [{ key }] }, (found) => {
    const state = stateIn(found.get(key)?.head);
    const after = callEnded(state, failure, now);
    return { writes: after === state ? [] : [{ put: { key, head: { ...after } } }], result: null };
  });
}

function guardKey(provider: string): RecordKey {
  return { collection: PROVIDER_GUARDS.name, id: recordId('provider-guard', provider) };
}

function stateIn(head: Readonly<Record<string, unknown>> | undefined): GuardState {
  if (head === undefined) return NO_CALLS;
  const number = (name: keyof GuardState): number => {
    const value = head[name];
    if (typeof value !== 'number') throw new StoreError('corrupt', 'the guard of a provider has no counts');
    return value;
  };
  return {
    windowStart: number('windowStart'),
    calls: number('calls'),
    day: number('day'),
    tokens: number('tokens'),
    failures: number('failures'),
    restsUntil: head['restsUntil'] === null ? null : number('restsUntil'),
  };
}

const refusals: Readonly<
  Record<GuardRefusal['reason'], readonly [FailureClass, string, isOfGuard: boolean]>
> = {
  rate_limited: ['rate_limit', 'The provider was called as often as the settings allow in a minute.', true],
  budget_spent: ['quota', 'The provider was sent as many tokens as the settings allow in a day.', true],
  circuit_open: ['provider_unavailable', 'The provider has failed several times and is left alone.', false],
};

function failureOf({ reason, retryAfterMs }: GuardRefusal): ProviderFailure {
  const [failureClass, message, isOfGuard] = refusals[reason];
  return new ProviderFailure(failureClass, reason, message, { isRetryable: true, retryAfterMs, isOfGuard });
}
