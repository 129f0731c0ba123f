import { countersOf } from '../active-runs.ts';
import { COUNTERS, dueOf, isActive, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';

/** How a run's record is found by those who look for work; no part of the run itself. */
export interface FoundBy {
  readonly due: number | null;
  readonly indexes: Readonly<Record<string, string>>;
}

/** Whoever settles a run, or cannot read it, moves its time from now on by less than this. */
const LATE_MS = 120_000;

/**
 * Why nothing would ever move this run on, or too late; `null` where something will: a worker finds it, time comes for it,
 * or an event is waited for. A terminal run needs nobody.
 */
export function accountOf(run: Run, { due, indexes }: FoundBy, now: number): string | null {
  if (!isActive(run)) return null;
  if (indexes[RUN_INDEX.status] !== run.status) return 'lists do not find it by its status';
  const lane = run.status === 'queued' ? run.handlerId : undefined;
  if (indexes[RUN_INDEX.lane] !== lane) return 'its place among the queued runs is not that of its status';
  if (run.status === 'queued') return run.lease === null ? null : 'it is queued and leased';
  if (run.status === 'running' && run.lease === null) return 'it is running and nobody holds a lease';
  if (run.status === 'waiting' && run.lease !== null) return 'it waits and is leased';
  const expected = dueOf(run);
  if (expected === null) {
    const waits = run.wait !== null && run.wait.kind === 'external_event';
    return waits ? null : 'it waits for nothing';
  }
  if (due === null) return 'no time comes for it';
  return due > Math.max(expected, now) + LATE_MS ? 'its time comes too late' : null;
}

export interface AccountFault {
  /** `null` for a count of active runs. */
  readonly runId: string | null;
  readonly fault: string;
}

export interface Account {
  /** Active runs that were looked at. */
  readonly runs: number;
  readonly faults: readonly AccountFault[];
  /** There was no time for all. Then counts are not compared. */
  readonly more: boolean;
}

export interface AccountOptions {
  /** Whether the time is over. */
  readonly isOver?: () => boolean;
  /** Where the caller can tell whether the queue has a message for a queued run. */
  readonly hasMessage?: (run: Run) => boolean;
}

const PAGE = 200;

/**
 * Looks at every run as of one moment, without any index: each active one must be found by something, and the counts of
 * active runs must be those that are there. Reads as many records as there are runs.
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
      const fault = accountOf(run, foundBy, now) ?? untold(run, options);
      if (fault !== null) faults.push({ runId: run.id, fault });
      if (!run.counted) continue;
      for (const { key } of countersOf(runtime.options, run)) {
        counted.set(key.id, (counted.get(key.id) ?? 0) + 1);
      }
    }
    more = options.isOver?.() === true;
    if (more) break;
  }
  if (runtime.options.activeRunsMax !== null && !more) faults.push(...countFaults(counted, counters));
  return { runs, faults, more };
}

function untold(run: Run, { hasMessage }: AccountOptions): string | null {
  const told = run.status !== 'queued' || hasMessage === undefined || hasMessage(run);
  return told ? null : 'no message tells of it';
}

function countFaults(counted: ReadonlyMap<string, number>, counters: ReadonlyMap<string, number>) {
  const ids = new Set([...counted.keys(), ...counters.keys()]);
  return [...ids].flatMap((id): AccountFault[] => {
    const [told, there] = [counters.get(id) ?? 0, counted.get(id) ?? 0];
    return told === there
      ? []
      : [{ runId: null, fault: `a count tells ${told} active runs, and ${there} are there` }];
  });
}
