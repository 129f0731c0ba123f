import { beforePaidCall } from '../kernel/paid-calls.ts';
import { delay, type World } from '../kernel/world.ts';
import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import {
  type Head,
  type LoadedRecords,
  type RecordKey,
  type RecordStore,
  StoreError,
} from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { ProviderFailure } from './failure.ts';
import type { Periods } from './rules/periods.ts';
import {
  admitRun,
  endRun,
  NO_RUNS,
  type ProviderRunCounts,
  type RunGuardLimits,
  type RunRefusal,
} from './rules/run-guard.ts';

/** The runs of each provider that are under way: one record for each space, and one for all spaces of a provider over the network. */
export const PROVIDER_RUNS: OwnedCollection = {
  name: 'provider-runs',
  pairedIndexes: false,
  ...SERVICE_DATA,
};
const SCOPE = { kind: 'system', name: 'provider-runs' } as const;

export interface RunGuardParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** The id of the provider. */
  readonly provider: string;
  /** The limits of one space. */
  readonly ofSpace: RunGuardLimits;
  /** The limits of all spaces together; `null` for a provider that is part of the service. */
  readonly ofAll: RunGuardLimits | null;
  /** How long a run waits for a place. */
  readonly queueMs: number;
}

export interface GuardedRun {
  readonly space: string;
  /** The id of the run, equal in each of its executions. */
  readonly id: string;
  /** The id of this execution; each execution has another one. */
  readonly holder: string;
  readonly leaseMs: number;
  /** An earlier execution of the run has been admitted and counted. */
  readonly wasAdmitted?: boolean;
  readonly signal: AbortSignal;
}

/**
 * The intervals at which a run tries to get a place: a try is a transaction, so a run that waits for longer tries less
 * often.
 */
const OFTEN_MS = 250;
const SELDOM_MS = 2_000;
const OFTEN_FOR_MS = 5_000;

/**
 * Waits for a place among the runs of the provider and takes it. Throws a `ProviderFailure` when no place becomes free
 * in time.
 */
export async function enterRun(parts: RunGuardParts, run: GuardedRun): Promise<void> {
  for (let waitedMs = 0; ; ) {
    if (run.signal.aborted) throw new ProviderFailure('cancelled', 'cancelled', 'The run was cancelled.');
    // A stopping process does not wait for a place: another one resumes the run.
    beforePaidCall();
    const refusal = await tryToEnter(parts, run);
    if (refusal === null) return;
    const pauseMs = waitedMs < OFTEN_FOR_MS ? OFTEN_MS : SELDOM_MS;
    waitedMs += pauseMs;
    if (refusal.reason === 'rate_limited' || waitedMs > parts.queueMs) throw failureOf(refusal);
    await delay(parts.world.timers, pauseMs);
  }
}

/** Frees the place of the holder; `null`: frees the place of the run for any holder. */
export async function leaveRun(
  parts: RunGuardParts,
  { space, id, holder }: Pick<GuardedRun, 'space' | 'id'> & { readonly holder: string | null },
): Promise<void> {
  const keys = keysOf(parts, space);
  const store = await parts.store();
  await store.transact(SCOPE, { keys: keys.map(({ key }) => ({ key })) }, (found) => {
    const writes = keys.flatMap(({ key }) => {
      const before = countsIn(found, key);
      const after = endRun(before, id, holder);
      return after === before ? [] : [putOf(key, after)];
    });
    return { writes, result: null };
  });
}

async function tryToEnter(
  parts: RunGuardParts,
  { space, id, holder, leaseMs, wasAdmitted = false }: GuardedRun,
): Promise<RunRefusal | null> {
  const keys = keysOf(parts, space);
  const now = parts.world.clock.now();
  const store = await parts.store();
  return store.transact(SCOPE, { keys: keys.map(({ key }) => ({ key })) }, (found) => {
    const answers = keys.map(({ key, limits }) => {
      const before = countsIn(found, key);
      return { key, before, ...admitRun(before, limits, { id, holder, now, leaseMs, wasAdmitted }) };
    });
    const refusal = answers.find((each) => each.refusal !== null)?.refusal ?? null;
    // A run without a place among all runs takes none in its space either.
    const kept = refusal === null ? answers : answers.filter((each) => each.refusal !== null);
    const changed = kept.filter(({ before, counts }) => counts !== before);
    return { writes: changed.map(({ key, counts }) => putOf(key, counts)), result: refusal };
  });
}

interface GuardKey {
  readonly key: RecordKey;
  readonly limits: RunGuardLimits;
}

function keysOf({ provider, ofSpace, ofAll }: RunGuardParts, space: string): readonly GuardKey[] {
  const { name: collection } = PROVIDER_RUNS;
  const own = { key: { collection, id: recordId('provider-runs', provider, space) }, limits: ofSpace };
  if (ofAll === null) return [own];
  return [own, { key: { collection, id: recordId('provider-runs', provider) }, limits: ofAll }];
}

function putOf(key: RecordKey, { windows, runs, leases }: ProviderRunCounts) {
  const head: Head = {
    windows: JSON.stringify(windows),
    runs,
    leases: JSON.stringify(leases.map(({ id, until, holder }) => [id, until, holder])),
  };
  return { put: { key, head } };
}

function countsIn(found: LoadedRecords, key: RecordKey): ProviderRunCounts {
  const head = found.get(key)?.head;
  if (head === undefined) return NO_RUNS;
  const { runs } = head;
  if (typeof runs !== 'number') throw new StoreError('corrupt', 'the runs of a provider have no count');
  return {
    windows: listIn(head['windows']) as Periods,
    runs,
    leases: (listIn(head['leases']) as readonly (readonly [string, number, string])[]).map(
      ([id, until, holder]) => ({ id, until, holder }),
    ),
  };
}

function listIn(value: unknown): readonly unknown[] {
  const list: unknown = typeof value === 'string' ? JSON.parse(value) : null;
  if (!Array.isArray(list)) throw new StoreError('corrupt', 'the runs of a provider have no list');
  return list;
}

function failureOf({ reason, retryAfterMs }: RunRefusal): ProviderFailure {
  const more = { isRetryable: true, retryAfterMs, isOfGuard: true };
  return reason === 'busy'
    ? new ProviderFailure(
        'rate_limit',
        'concurrency_queue_timeout',
        'The provider is busy with other runs.',
        more,
      )
    : new ProviderFailure(
        'rate_limit',
        'rate_limited',
        'As many runs have begun as may in this window.',
        more,
      );
}
