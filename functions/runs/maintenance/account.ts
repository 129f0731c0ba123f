import { countersOfRun } from '../active-runs.ts';
import { COUNTERS, dueOf, isActive, laneOf, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';

/**
 * The parts of a run's record by which workers and maintenance find it.
 * @testonly
 */
export interface FoundBy {
  readonly due: number | null;
  readonly indexes: Readonly<Record<string, string>>;
}

/** A process that settles a run, or cannot read it, postpones its due time by less than this. */
const LATE_MS = 120_000;

/**
 * The reason why an active run would never continue, or too late. `null`: a worker finds the run, its due time comes,
 * or it waits for an event or a child. Terminal runs are always in order.
 * @testonly
 */
export function accountOf(run: Run, { due, indexes }: FoundBy, now: number): string | null {
  if (!isActive(run)) return null;
  if (indexes[RUN_INDEX.status] !== run.status) return 'lists do not find it by its status';
  if (indexes[RUN_INDEX.lane] !== laneOf(run))
    return 'its place among the queued runs is not that of its status';
  if (run.status === 'queued') return run.lease === null ? null : 'it is queued and leased';
  if (run.status === 'running' && run.lease === null) return 'it is running without a lease';
  if (run.status === 'waiting' && run.lease !== null) return 'it waits and is leased';
  const expected = dueOf(run);
  if (expected === null) {
    const waits = run.wait !== null && run.wait.kind !== 'timer';
    return waits ? null : 'it waits for nothing';
  }
  if (due === null) return 'it has no due time';
  return due > Math.max(expected, now) + LATE_MS ? 'its due time is too late' : null;
}

export interface AccountFault {
  /** `null` for a fault of an active-run counter. */
  readonly runId: string | null;
  readonly fault: string;
}

export interface Account {
  /** Active runs that were checked. */
  readonly runs: number;
  readonly faults: readonly AccountFault[];
  /** The time was over before all runs were checked. Then counters are not compared. */
  readonly more: boolean;
}

export interface AccountOptions {
  /** Whether the time is over. */
  readonly isOver?: () => boolean;
  /** Whether the queue has a message for a queued run, if the caller knows. */
  readonly hasMessage?: (run: Run) => boolean;
}

const PAGE = 200;

/**
 * Checks every run as of one moment, without an index: each active run must be found again, and the active-run counters must
 * match the runs. Reads every run.
 */
export async function accountForRuns(runtime: Runtime, options: AccountOptions = {}): Promise<Account> {
  const store = await runtime.store();
  const now = runtime.world.clock.now();
  const faults: AccountFault[] = [];
  const counted = new Map<string, number>();
  const counters = new Map<string, number>();
  let runs = 0;
  const pages = store.scan(runtime.scope, { collections: [RUNS.name, COUNTERS.name], pageSize: PAGE });
  let more = false;
  for await (const { records } of pages) {
    for (const record of records) {
      if (record.key.collection === COUNTERS.name) {
        counters.set(record.key.id, Number(record.head.active ?? 0));
        continue;
      }
      const run = readRun(record);
      if (!isActive(run)) continue;
      runs += 1;
      const foundBy = { due: record.due ?? null, indexes: record.listing?.indexes ?? {} };
      const fault = accountOf(run, foundBy, now) ?? unannounced(run, options);
      if (fault !== null) faults.push({ runId: run.id, fault });
      if (!run.counted) continue;
      for (const { key } of countersOfRun(runtime.options, run)) {
        counted.set(key.id, (counted.get(key.id) ?? 0) + 1);
      }
    }
    more = options.isOver?.() === true;
    if (more) break;
  }
  if (runtime.options.activeRunsMax !== null && !more) faults.push(...countFaults(counted, counters));
  return { runs, faults, more };
}

function unannounced(run: Run, { hasMessage }: AccountOptions): string | null {
  const announced = run.status !== 'queued' || hasMessage === undefined || hasMessage(run);
  return announced ? null : 'the queue has no message for it';
}

function countFaults(counted: ReadonlyMap<string, number>, counters: ReadonlyMap<string, number>) {
  const ids = new Set([...counted.keys(), ...counters.keys()]);
  return [...ids].flatMap((id): AccountFault[] => {
    const [stored, active] = [counters.get(id) ?? 0, counted.get(id) ?? 0];
    return stored === active
      ? []
      : [{ runId: null, fault: `a counter says ${stored} active runs, but there are ${active}` }];
  });
}
