import { describeFailure } from '../kernel/log.ts';
import type { RecordData, RecordPage, RecordStore } from '../store/port.ts';
import { announceChange } from './announcements.ts';
import { changeRun, traceLimits } from './change-run.ts';
import { settledEach } from './maintenance/parallel.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun, runRecord } from './records.ts';
import { loseLease, settleRun } from './rules/due.ts';
import { isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { withTrace } from './trace.ts';

/** Runs that one look at what is due moves on at most. */
const BATCH = 256;

/** How long whoever found a run that time has ended has to write so, before the next one finds it. */
const SETTLE_MS = 5_000;

/** Until a record that holds no run is looked at again. */
const UNREADABLE_MS = 60_000;

interface Due {
  readonly before: Run;
  readonly run: Run | null;
}

/**
 * Moves on what time has come for: schedules, retries, timers, deadlines and leases that ran out. Answers how many were
 * moved, whether there may be more, and where changes of the store can be told without asking it, when there is more.
 */
export async function settleDue(
  runtime: Runtime,
  now: number,
): Promise<{ moved: number; more: boolean; nextAt: number | null }> {
  const moved = (await settleSome(runtime, now, BATCH)).length;
  const more = moved === BATCH;
  const store = await runtime.store();
  const nextAt = more || store.changeMark === undefined ? null : await nextDue(runtime, store);
  return { moved, more, nextAt };
}

export interface SettleListener {
  /** A run could not be ended, and is due again soon; without this the first such failure is thrown. */
  readonly failed?: (runId: string, error: unknown) => void;
  /** A run was moved on, and the queue could not be told. */
  readonly untold?: (runId: string) => void;
}

/** Runs that are told of, or ended, at a time. */
const WIDTH = 16;

/**
 * The same for at most `limit` runs, and answers which. One write each, won by one caller; a run that ends by it is counted
 * out in a transaction of its own.
 */
export async function settleSome(
  runtime: Runtime,
  now: number,
  limit: number,
  { failed, untold }: SettleListener = {},
): Promise<readonly string[]> {
  const store = await runtime.store();
  const ids: string[] = [];
  // The same where a decision is made anew; most looks find nothing and draw none.
  const idFor = (offer: number) => (ids[offer] ??= runtime.ids.next());
  const found = await store.claim<Due>(runtime.scope, RUNS, { now, limit }, (record, offer) => {
    const before = readable(runtime, record);
    // One that cannot be read must not hold up all the others.
    if (before === null) return { put: { key: record.key, head: record.head, due: now + UNREADABLE_MS } };
    const change = settleRun(before, now, runtime.options);
    if (change === null) return notDue(record, before);
    if (isTerminal(change.run.status)) {
      return {
        put: { key: record.key, head: record.head, due: now + SETTLE_MS },
        result: { before, run: null },
      };
    }
    const run = withTrace(change, idFor(offer), now, traceLimits(runtime, change.run));
    return { put: runRecord(run), result: { before, run } };
  });
  // Together, since a queue that does not answer takes its time for each.
  const results = await settledEach(found, WIDTH, async ({ before, run }) => {
    if (run === null) await settleOne(runtime, before.id, now);
    else if (!(await announceChange(runtime, before, run, now))) untold?.(before.id);
  });
  for (const [at, result] of results.entries()) {
    if (result.status === 'fulfilled') continue;
    if (failed === undefined) throw result.reason;
    failed(found[at]?.before.id ?? '', result.reason);
  }
  return found.map(({ before }) => before.id);
}

/** Ids of runs that time has come for, at most `limit`, and nothing is written. */
export async function dueRuns(runtime: Runtime, now: number, limit: number): Promise<readonly string[]> {
  const store = await runtime.store();
  const ids = new Set<string>();
  // What is looked at is not taken: the decision ends the call before it writes.
  const enough = new Error('as many records as were asked for were seen');
  try {
    await store.claim(runtime.scope, RUNS, { now, limit }, (record) => {
      if (ids.size >= limit) throw enough;
      const run = readable(runtime, record);
      if (run !== null && settleRun(run, now, runtime.options) !== null) ids.add(run.id);
      return null;
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
  return [...ids];
}

function readable(runtime: Runtime, record: RecordData): Run | null {
  try {
    return readRun(record);
  } catch (error) {
    const failure = describeFailure(error);
    runtime.log({ severity: 'ERROR', message: 'A run that is due cannot be read', failure });
    return null;
  }
}

/** The earliest moment of any run: what was left by a process that is gone comes without anybody writing. */
async function nextDue(runtime: Runtime, store: RecordStore): Promise<number | null> {
  let nextAt: number | null = null;
  // What is looked at is not taken: the decision ends the call before it writes.
  const seen = new Error('the first record that is due was seen');
  const request = { now: Number.MAX_SAFE_INTEGER, limit: 1 };
  try {
    await store.claim(runtime.scope, RUNS, request, ({ due }) => {
      nextAt = due ?? null;
      throw seen;
    });
  } catch (error) {
    if (error !== seen) throw error;
  }
  return nextAt;
}

/** The record says that it is due, and the run that it is not: the time of the record is put right. */
function notDue(record: RecordData, run: Run) {
  const { due } = runRecord(run);
  return due === record.due ? null : { put: { key: record.key, head: record.head, due: due ?? null } };
}

const RECOVERED_PAGE = 200;

/**
 * Takes back the runs that processes held which are gone, without waiting for their leases to run out. Each loses a lease as
 * if it had: a run that kills its process ends.
 */
export async function recoverRuns(
  runtime: Runtime,
  isGone: (workerId: string) => boolean,
  now: number,
): Promise<number> {
  const store = await runtime.store();
  let recovered = 0;
  let after: string | null = null;
  do {
    const page: RecordPage = await store.query(runtime.scope, {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.status]: 'running' },
      limit: RECOVERED_PAGE,
      ...(after === null ? {} : { after }),
    });
    for (const record of page.records) {
      const { id, lease } = readRun(record);
      if (lease?.kind !== 'process' || !isGone(lease.workerId)) continue;
      await changeRun(runtime, { runId: id, now, mayEnd: true }, (before) => {
        // Another process may have been quicker, and hold it by now.
        const still = before?.lease?.tokenHash === lease.tokenHash && before.status === 'running';
        return { change: still ? loseLease(before, now, runtime.options) : null, result: null };
      });
      recovered += 1;
    }
    after = page.next;
  } while (after !== null);
  return recovered;
}

/** The same for one run, whatever becomes of it. */
export async function settleOne(runtime: Runtime, runId: string, now: number): Promise<Run | undefined> {
  const { run } = await changeRun(runtime, { runId, now, mayEnd: true }, (before) => ({
    change: before === undefined ? null : settleRun(before, now, runtime.options),
    result: null,
  }));
  return run;
}
