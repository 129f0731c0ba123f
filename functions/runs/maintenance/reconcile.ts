import { limits } from '../../../contracts/generated/limits.ts';
import { describeFailure } from '../../kernel/log.ts';
import type { RecordPage } from '../../store/port.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { dueRuns, settleSome } from '../settle.ts';
import { type AccountFault, accountForRuns } from './account.ts';
import { settledEach } from './parallel.ts';

/** How long a message may take to be worked on, before it may be lost. */
export const REDRIVE_MS = 60_000;

const PAGE = 200;
/** Messages that are sent at a time. */
const WIDTH = 16;
/** Runs that one batch of what is due moves on. */
const SETTLED = 64;
const FAILURES_TOLD = 20;
const FAULTS_TOLD = 10;

const NOT_SETTLED = 'The run could not be moved on';
const NOT_TOLD = 'The queue could not be told of the run';

/** The word changes with every doubling of the time up to so many periods, and then after as many each. */
const DOUBLED_MAX = 16;

/**
 * The word of the message that tells again of a run which is queued for so long; `null` where it is not yet time. It changes
 * after one period, two, four and so on, and from 16 on after each further 16: a queue that takes each word once is told of a
 * long backlog rarely, two reconciles at once send one message, and one that is lost is followed by another. The moment
 * tells apart two times in the queue between which nobody leased the run.
 */
export function redriveWord({ queuedAt, updatedAt }: Run, now: number): string | null {
  const since = queuedAt ?? updatedAt;
  const periods = (now - since) / REDRIVE_MS;
  if (periods < 1) return null;
  const doubled = Math.floor(Math.log2(Math.min(periods, DOUBLED_MAX)));
  const beyond = Math.max(0, Math.floor(periods / DOUBLED_MAX) - 1);
  return `redrive ${since} ${doubled + beyond}`;
}

export interface ReconcileRequest {
  readonly dryRun: boolean;
  readonly limit: number;
}

export interface Reconciled {
  readonly candidateRunIds: readonly string[];
  readonly dispatched: number;
  readonly failures: Readonly<Record<string, string>>;
}

/** Looks after at most `limit` runs: what is due first, then what is queued too long, oldest first. */
export async function reconcile(
  runtime: Runtime,
  { dryRun, limit }: ReconcileRequest,
  now: number,
): Promise<Reconciled> {
  const failures = new Map<string, string>();
  const due = dryRun
    ? await dueRuns(runtime, now, limit)
    : await settleSome(runtime, now, limit, {
        failed: failing(runtime, failures, NOT_SETTLED),
        untold: (runId) => failures.set(runId, NOT_TOLD),
      });
  const stale: Run[] = [];
  let looked = 0;
  const room = limit - due.length;
  if (room > 0) {
    for await (const runs of queuedPages(runtime)) {
      stale.push(...runs.filter((run) => redriveWord(run, now) !== null));
      looked += runs.length;
      if (stale.length >= room || looked >= limits.executionMaintenanceScanMax) break;
    }
  }
  const chosen = stale.slice(0, room);
  if (!dryRun) await redrive(runtime, chosen, now, failures);
  const ids = [...new Set([...due, ...chosen.map(({ id }) => id)])].sort();
  return {
    candidateRunIds: ids,
    dispatched: dryRun ? 0 : ids.length - failures.size,
    failures: Object.fromEntries(failures),
  };
}

export interface ReconcileAllOptions {
  /** Milliseconds since 1970, by the clock of the runtime: nothing is begun after it. */
  readonly deadline: number;
  /** Whether to prove as well that no active run is forgotten, which reads every run; default false. */
  readonly account?: boolean;
}

export interface ReconcileSummary {
  /** Runs that time has moved on. */
  readonly settled: number;
  /** Runs that the queue was told of again. */
  readonly redriven: number;
  readonly failed: number;
  /** The first of them, by run. */
  readonly failures: Readonly<Record<string, string>>;
  /** There was no time for all. */
  readonly more: boolean;
  readonly account: {
    readonly runs: number;
    readonly faulty: number;
    /** The first of them. */
    readonly faults: readonly AccountFault[];
  } | null;
}

/** All that is due and all that is queued too long, until the time is over. */
export async function reconcileAll(
  runtime: Runtime,
  now: number,
  { deadline, account = false }: ReconcileAllOptions,
): Promise<ReconcileSummary> {
  const isOver = () => runtime.world.clock.now() >= deadline;
  const failures = new Map<string, string>();
  let settled = 0;
  let redriven = 0;
  let more = isOver();
  for (let last = SETTLED; last === SETTLED && !more; more = isOver()) {
    const failed = failing(runtime, failures, NOT_SETTLED);
    const ids = await settleSome(runtime, now, SETTLED, {
      failed(runId, error) {
        settled -= 1;
        failed(runId, error);
      },
      untold: (runId) => failures.set(runId, NOT_TOLD),
    });
    last = ids.length;
    settled += last;
  }
  for await (const runs of more ? [] : queuedPages(runtime)) {
    const stale = runs.filter((run) => redriveWord(run, now) !== null);
    redriven += await redrive(runtime, stale, now, failures);
    more = isOver();
    if (more) break;
  }
  const found = account && !more ? await accountForRuns(runtime) : null;
  return {
    settled,
    redriven,
    failed: failures.size,
    failures: Object.fromEntries([...failures].slice(0, FAILURES_TOLD)),
    more,
    account:
      found === null
        ? null
        : { runs: found.runs, faulty: found.faults.length, faults: found.faults.slice(0, FAULTS_TOLD) },
  };
}

/** Queued runs of all handlers, oldest first. */
async function* queuedPages(runtime: Runtime): AsyncGenerator<readonly Run[]> {
  const store = await runtime.store();
  let after: string | null = null;
  do {
    const page: RecordPage = await store.query(runtime.scope, {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.status]: 'queued' },
      limit: PAGE,
      ...(after === null ? {} : { after }),
    });
    yield page.records.map((record) => readRun(record));
    after = page.next;
  } while (after !== null);
}

/** Answers how many the queue has taken. A run that is no longer queued by then is leased by nobody for it. */
async function redrive(
  runtime: Runtime,
  runs: readonly Run[],
  now: number,
  failures: Map<string, string>,
): Promise<number> {
  const failed = failing(runtime, failures, NOT_TOLD);
  const results = await settledEach(runs, WIDTH, async (run) => {
    const again = redriveWord(run, now);
    if (again === null) return;
    const { id: runId, handlerId, attempt } = run;
    await runtime.queue.enqueue({ runId, handlerId, attempt, reason: 'run_ready', notBefore: now, again });
  });
  for (const [at, result] of results.entries()) {
    if (result.status === 'rejected') failed(runs[at]?.id ?? '', result.reason);
  }
  return results.filter(({ status }) => status === 'fulfilled').length;
}

/** Collects by run what callers may know, and logs the first of each kind for operators. */
function failing(runtime: Runtime, failures: Map<string, string>, message: string) {
  let logged = false;
  return (runId: string, error: unknown): void => {
    failures.set(runId, message);
    if (!logged) runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
    logged = true;
  };
}
