import { describeFailure } from '../kernel/log.ts';
import { settledEach } from '../kernel/settled-each.ts';
import { duePages, recordsOf } from '../store/pages.ts';
import type { ClaimDecision, RecordData } from '../store/port.ts';
import { announceChange } from './announcements.ts';
import { changeRun, traceLimits } from './change-run.ts';
import { RUNS, readRun, runRecord } from './records.ts';
import { settleRun } from './rules/due.ts';
import { isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { withTrace } from './trace.ts';

/** Settling applies due changes: schedules, retries, timers, deadlines and expired leases. */

/** Runs that one batch settles at most. */
const BATCH = 256;

/** Time to write the end of a claimed run before another process may claim it. */
const SETTLE_MS = 5_000;

/** Delay before an unreadable record is read again. */
const UNREADABLE_MS = 60_000;

/** Runs that are announced or ended at a time. */
const WIDTH = 16;

interface Settled {
  readonly before: Run;
  /** `null`: the run ends, which needs a transaction with the active-run counter. */
  readonly run: Run | null;
}

/** Settles one batch of due runs. `nextAt` is the earliest due time, if the store reports changes by other processes. */
export async function settleDue(
  runtime: Runtime,
  now: number,
): Promise<{ moved: number; more: boolean; nextAt: number | null }> {
  const moved = (await settleSome(runtime, now, BATCH)).length;
  const more = moved === BATCH;
  const store = await runtime.store();
  if (more || store.changeMark === undefined) return { moved, more, nextAt: null };
  const { records } = await store.due(runtime.scope, RUNS, { now: null, limit: 1 });
  return { moved, more, nextAt: records[0]?.due ?? null };
}

export interface SettleListener {
  /** A run could not be ended and is due again soon. Without this listener the first such failure is thrown. */
  readonly failed?: (runId: string, error: unknown) => void;
  /** A run was settled, but the queue could not be notified. */
  readonly unannounced?: (runId: string) => void;
}

/** Settles at most `limit` due runs and returns their ids. Each run is claimed by one caller. */
export async function settleSome(
  runtime: Runtime,
  now: number,
  limit: number,
  { failed, unannounced }: SettleListener = {},
): Promise<readonly string[]> {
  const store = await runtime.store();
  const claim = store.claim(runtime.scope, RUNS, { now, limit }, settlement(runtime, now));
  const found = await claim.catch((error: unknown) => {
    // The claim may have queued runs before it failed, and no message names them.
    runtime.ready?.markAllIncomplete();
    throw error;
  });
  // In parallel: a queue that does not respond delays each message.
  const results = await settledEach(found, WIDTH, async ({ before, run }) => {
    if (run === null) await settleOne(runtime, before.id, now);
    else if (!(await announceChange(runtime, before, run, now))) unannounced?.(before.id);
  });
  for (const [at, result] of results.entries()) {
    if (result.status === 'fulfilled') continue;
    if (failed === undefined) throw result.reason;
    failed(found[at]?.before.id ?? '', result.reason);
  }
  return found.map(({ before }) => before.id);
}

/** The decision of a claim on one due record. The store may call it again for the same record. */
function settlement(runtime: Runtime, now: number): ClaimDecision<Settled> {
  const ids: string[] = [];
  // Ids are drawn on demand and kept: most claims find nothing, and a repeated decision must use the same id.
  const idFor = (offer: number) => (ids[offer] ??= runtime.ids.next());
  return (record, offer) => {
    const { key, head } = record;
    const before = readable(runtime, record);
    // Postpone an unreadable record: it must not block the others.
    if (before === null) return { put: { key, head, due: now + UNREADABLE_MS } };
    const change = settleRun(before, now, runtime.options);
    if (change === null) return correctedDue(record, before);
    if (isTerminal(change.run.status))
      return { put: { key, head, due: now + SETTLE_MS }, result: { before, run: null } };
    const run = withTrace(change, idFor(offer), now, traceLimits(runtime, change.run));
    return { put: runRecord(run), result: { before, run } };
  };
}

/** The run is not due, although its record is: corrects the due time of the record. */
function correctedDue(record: RecordData, run: Run) {
  const { due } = runRecord(run);
  return due === record.due ? null : { put: { key: record.key, head: record.head, due: due ?? null } };
}

/** Ids of at most `limit` due runs. Writes nothing. */
export async function dueRuns(runtime: Runtime, now: number, limit: number): Promise<readonly string[]> {
  const store = await runtime.store();
  const ids = new Set<string>();
  if (limit <= 0) return [];
  for await (const record of recordsOf(duePages(store, runtime.scope, RUNS, { now, limit }))) {
    const run = readable(runtime, record);
    if (run !== null && settleRun(run, now, runtime.options) !== null) ids.add(run.id);
    if (ids.size >= limit) break;
  }
  return [...ids];
}

function readable(runtime: Runtime, record: RecordData): Run | null {
  try {
    return readRun(record);
  } catch (error) {
    const failure = describeFailure(error);
    runtime.log({ severity: 'ERROR', message: 'A due run could not be read', failure });
    return null;
  }
}

/** Settles one run and returns it, settled or not. */
export async function settleOne(runtime: Runtime, runId: string, now: number): Promise<Run | undefined> {
  const { run } = await changeRun(runtime, { runId, now, mayEnd: true }, (before, _, at) => ({
    change: before === undefined ? null : settleRun(before, at, runtime.options),
    result: null,
  }));
  return run;
}
