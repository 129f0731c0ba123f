import { type Periods, periodOf } from './periods.ts';

/**
 * Whether a run may begin, by the runs under way that all instances of the service share. Pure: `now` is in
 * milliseconds since 1970.
 */

export interface RunGuardLimits {
  /** Runs that may begin in one window; `null`: without this limit. */
  readonly runsPerWindow: number | null;
  readonly windowMs: number;
  readonly concurrentRuns: number;
}

/** A run that is under way, until it ends or its time is over: a process that dies ends no lease. */
interface ProviderRunLease {
  readonly id: string;
  readonly until: number;
  /** Names the execution of the run that has the place. */
  readonly holder: string;
}

/** The stored counts of a provider's runs: for one space, or for all. */
export interface ProviderRunCounts {
  readonly windows: Periods;
  readonly runs: number;
  readonly leases: readonly ProviderRunLease[];
}

export const NO_RUNS: ProviderRunCounts = { windows: [], runs: 0, leases: [] };

export interface RunRefusal {
  readonly reason: 'rate_limited' | 'busy';
  readonly retryAfterMs: number;
}

export interface RunAdmission {
  /** To be stored, also with a refusal, when it is another object than before. */
  readonly counts: ProviderRunCounts;
  /** `null`: the run is admitted and counted. */
  readonly refusal: RunRefusal | null;
}

export interface RunAsking {
  readonly id: string;
  readonly holder: string;
  readonly now: number;
  readonly leaseMs: number;
  /** An earlier execution of the run has been admitted and counted. */
  readonly wasAdmitted?: boolean;
}

/**
 * No lease is longer than this; one that seems so was written by a clock that is ahead.
 * @testonly
 */
export const LEASE_MS_MAX = 600_000;

/**
 * Admits a run and leases it a place, or answers the reason of the refusal. A run whose lease is active keeps it when
 * another worker resumes the run: it gets a new holder and counts once. An admitted run whose lease has ended needs
 * only a place. A refused run is not counted.
 */
export function admitRun(
  before: ProviderRunCounts,
  limits: RunGuardLimits,
  { id, holder, now, leaseMs, wasAdmitted = false }: RunAsking,
): RunAdmission {
  const lease: ProviderRunLease = { id, until: now + Math.min(leaseMs, LEASE_MS_MAX), holder };
  const held = before.leases.filter(({ until }) => until > now && until - now <= LEASE_MS_MAX);
  const others = held.filter((each) => each.id !== id);
  if (others.length < held.length)
    return { counts: { ...before, leases: [...others, lease] }, refusal: null };
  const window = periodOf(before.windows, now, limits.windowMs);
  const runs = window.isNew ? 0 : before.runs;
  const { runsPerWindow, concurrentRuns } = limits;
  // The clock of a refused run is recorded too, or a clock whose runs are all refused could never begin a window.
  const seen = window.known === before.windows ? before : { ...before, windows: window.known, runs };
  if (!wasAdmitted && runsPerWindow !== null && runs >= runsPerWindow)
    return { counts: seen, refusal: { reason: 'rate_limited', retryAfterMs: window.endsAfterMs } };
  if (others.length >= concurrentRuns) {
    const firstEnd = Math.min(...others.map(({ until }) => until));
    return { counts: seen, refusal: { reason: 'busy', retryAfterMs: Math.max(1, firstEnd - now) } };
  }
  const counts = { windows: window.known, runs: wasAdmitted ? runs : runs + 1, leases: [...others, lease] };
  return { counts, refusal: null };
}

/**
 * The counts after an execution of a run has ended; the same object where it has no lease. It does not free
 * the place of another execution that resumed the run. `null`: the run itself has ended, so any holder's place is freed.
 */
export function endRun(before: ProviderRunCounts, id: string, holder: string | null): ProviderRunCounts {
  const leases = before.leases.filter(
    (each) => each.id !== id || (holder !== null && each.holder !== holder),
  );
  return leases.length === before.leases.length ? before : { ...before, leases };
}
