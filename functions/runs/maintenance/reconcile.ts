import { limits } from '../../../contracts/generated/limits.ts';
import { describeFailure } from '../../kernel/log.ts';
import { settledEach } from '../../kernel/settled-each.ts';
import { listPages } from '../../store/pages.ts';
import { resumeCascades } from '../cascade.ts';
import { offerLeftKeys } from '../offer-start-key.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { Run } from '../run.ts';
import { messageOf } from '../run-job.ts';
import type { Runtime } from '../runtime.ts';
import { dueRuns, settleSome } from '../settle.ts';
import { type AccountFault, accountForRuns } from './account.ts';
import { repairRuns } from './repair.ts';

/**
 * A message that no worker has handled after this time counts as lost.
 * @testonly
 */
export const REDRIVE_MS = 60_000;

const PAGE = 200;
/** Messages that are sent in parallel. */
const WIDTH = 16;
/** Due runs that one batch settles. */
const SETTLED = 64;
/** Cancelled runs whose children one call cancels. */
const CASCADES_MAX = 16;
const FAILURES_LISTED = 20;
const FAULTS_LISTED = 10;

const NOT_SETTLED = 'The run could not be settled';
const NOT_ANNOUNCED = 'The queue could not be notified of the run';

/**
 * The queueing time, in periods, up to which redrives follow each doubling; after it, a redrive follows each time this
 * number of periods passes.
 */
const DOUBLED_MAX = 16;

/**
 * Identifies the message that redrives a run which has been queued for long; `null` if that is too early. The key changes
 * after 1, 2, 4, 8 and 16 periods and then every 16, so that concurrent reconciles send one message and a backlog few. The
 * queueing time distinguishes two stays in the queue without a lease between them.
 * @testonly
 */
export function redriveKey({ queuedAt, updatedAt }: Run, now: number): string | null {
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

/** Handles at most `limit` runs: first settles due ones, then redrives those queued for too long, oldest first. */
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
        unannounced: (runId) => failures.set(runId, NOT_ANNOUNCED),
      });
  if (!dryRun) await resumeCascades(runtime, now, CASCADES_MAX);
  if (!dryRun) await offerLeftKeys(runtime, now);
  const stale: Run[] = [];
  let scanned = 0;
  const room = limit - due.length;
  if (room > 0) {
    for await (const runs of queuedPages(runtime)) {
      stale.push(...runs.filter((run) => isStale(run, now)));
      scanned += runs.length;
      if (stale.length >= room || scanned >= limits.executionMaintenanceScanMax) break;
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
  /** Milliseconds since 1970, by the clock of the runtime: no batch starts after this time. */
  readonly deadline: number;
  /** Also checks that every active run will be found again, which reads every run. Default false. */
  readonly account?: boolean;
}

export interface ReconcileSummary {
  /** Due runs that were settled. */
  readonly settled: number;
  /** Queued runs whose message was sent again. */
  readonly redriven: number;
  readonly failed: number;
  /** The first failures, by run id. */
  readonly failures: Readonly<Record<string, string>>;
  /** Whether the deadline passed before the work was done. */
  readonly more: boolean;
  readonly account: {
    readonly runs: number;
    readonly faulty: number;
    /** The first faults. */
    readonly faults: readonly AccountFault[];
  } | null;
}

/** Settles all due runs, redrives all that have been queued for too long, and repairs index and counters, until the deadline. */
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
      unannounced: (runId) => failures.set(runId, NOT_ANNOUNCED),
    });
    last = ids.length;
    settled += last;
  }
  for await (const runs of more ? [] : queuedPages(runtime)) {
    const stale = runs.filter((run) => isStale(run, now));
    redriven += await redrive(runtime, stale, now, failures);
    more = isOver();
    if (more) break;
  }
  if (!more) await resumeCascades(runtime, now, CASCADES_MAX);
  if (!more) await offerLeftKeys(runtime, now);
  if (!more) await repairRuns(runtime, isOver);
  const found = account && !more ? await accountForRuns(runtime) : null;
  return {
    settled,
    redriven,
    failed: failures.size,
    failures: Object.fromEntries([...failures].slice(0, FAILURES_LISTED)),
    more,
    account:
      found === null
        ? null
        : { runs: found.runs, faulty: found.faults.length, faults: found.faults.slice(0, FAULTS_LISTED) },
  };
}

/** A message would not help a run that waits for its key. */
function isStale(run: Run, now: number): boolean {
  return run.waitsForKey !== true && redriveKey(run, now) !== null;
}

/** Queued runs of all handlers, oldest first. */
async function* queuedPages(runtime: Runtime): AsyncGenerator<readonly Run[]> {
  const store = await runtime.store();
  const queued = { [RUN_INDEX.status]: 'queued' };
  const selection = { collection: RUNS, group: RUN_GROUP, equal: queued, limit: PAGE };
  for await (const { records } of listPages(store, runtime.scope, selection))
    yield records.map((record) => readRun(record));
}

/** Returns how many messages the queue accepted. A message for a run that is no longer queued has no effect. */
async function redrive(
  runtime: Runtime,
  runs: readonly Run[],
  now: number,
  failures: Map<string, string>,
): Promise<number> {
  const failed = failing(runtime, failures, NOT_ANNOUNCED);
  const results = await settledEach(runs, WIDTH, async (run) => {
    const repeatKey = redriveKey(run, now);
    if (repeatKey === null) return;
    await runtime.queue.enqueue({ ...messageOf(run), reason: 'run_ready', notBefore: now, repeatKey });
  });
  for (const [at, result] of results.entries()) {
    if (result.status === 'rejected') failed(runs[at]?.id ?? '', result.reason);
  }
  return results.filter(({ status }) => status === 'fulfilled').length;
}

/** Collects the failure for the caller, and logs the cause of the first one for operators. */
function failing(runtime: Runtime, failures: Map<string, string>, message: string) {
  let logged = false;
  return (runId: string, error: unknown): void => {
    failures.set(runId, message);
    if (!logged) runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
    logged = true;
  };
}
