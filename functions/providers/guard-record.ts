import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import { type Head, type RecordKey, StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type GuardState, NO_CALLS } from './rules/guard.ts';
import type { Periods, SeenClock } from './rules/periods.ts';
import type { ProviderSpaceCount } from './rules/space-counts.ts';

/** The state of each provider that all instances share: one record each, of at most some 3 KB. */
export const PROVIDER_GUARDS: OwnedCollection = {
  name: 'provider-guards',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

export const GUARD_SCOPE = { kind: 'system', name: 'provider-guards' } as const;

export function guardKey(provider: string): RecordKey {
  return { collection: PROVIDER_GUARDS.name, id: recordId('provider-guard', provider) };
}

/**
 * Names a space in the record of a provider, so that the name shows neither the space nor that two providers serve the
 * same one.
 */
export function spaceTag(provider: string, space: string): string {
  return recordId('provider-guard-space', provider, space).slice(0, 16);
}

export function headOf({ minutes, days, spaces, ...numbers }: GuardState): Head {
  return {
    ...numbers,
    minutes: JSON.stringify(minutes),
    days: JSON.stringify(days),
    spaces: JSON.stringify(
      spaces.map(({ tag, calls, tokens, failures, unanswered, failedAt, restsUntil }) => [
        tag,
        calls,
        tokens,
        failures,
        unanswered,
        failedAt,
        restsUntil,
      ]),
    ),
  };
}

/** Throws `corrupt` where a count is missing. */
export function stateIn(head: Head | undefined): GuardState {
  if (head === undefined) return NO_CALLS;
  const number = (name: string) => counted(head[name]);
  return {
    minutes: periodsIn(head['minutes']),
    calls: number('calls'),
    days: periodsIn(head['days']),
    tokens: number('tokens'),
    restsUntil: momentIn(head['restsUntil']),
    spaces: listIn(head['spaces']).map(spaceCountIn),
  };
}

function spaceCountIn(item: unknown): ProviderSpaceCount {
  const [tag, calls, tokens, failures, unanswered, failedAt, restsUntil]: readonly unknown[] = Array.isArray(
    item,
  )
    ? item
    : [];
  return {
    tag: String(tag),
    calls: counted(calls),
    tokens: counted(tokens),
    failures: counted(failures),
    unanswered: counted(unanswered),
    failedAt: momentIn(failedAt),
    restsUntil: momentIn(restsUntil),
  };
}

function periodsIn(value: unknown): Periods {
  return listIn(value).map((each) => {
    const { at, next } = each as Partial<SeenClock>;
    return { at: counted(at), next: momentIn(next) };
  });
}

function listIn(value: unknown): readonly unknown[] {
  const list: unknown = typeof value === 'string' ? JSON.parse(value) : null;
  if (!Array.isArray(list)) throw corrupt();
  return list;
}

function momentIn(value: unknown): number | null {
  return value === null ? null : counted(value);
}

function counted(value: unknown): number {
  if (typeof value !== 'number') throw corrupt();
  return value;
}

function corrupt(): StoreError {
  return new StoreError('corrupt', 'the guard of a provider has no counts');
}
