import { limits } from '../../contracts/generated/limits.ts';
import { decisionTime } from '../kernel/world.ts';
import type { KeyRequest, LoadedRecords, RecordKey, Write } from '../store/port.ts';
import { type ActiveCounter, countersOf, countersOfRun, decremented } from './active-runs.ts';
import { afterWrite, announceChange } from './announcements.ts';
import { heartbeatRecord, readRun, runKey, runRecord, runTraceKey, runTraceRecord } from './records.ts';
import type { Change, Run } from './run.ts';
import { ownerOfRun } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { overflowingTrace, type RunTraceLimits, withTrace } from './trace.ts';

export interface ChangeRequest {
  readonly runId: string;
  /** The moment of the request. The decision gets its own, later one: a slow store must not shorten a lease. */
  readonly now: number;
  /** Whether the decision will probably end the run. Then the first try reads the counter of active runs. */
  readonly mayEnd?: boolean;
  /** Whether the call may write on a full disk: it writes little, and the run cannot end without it. */
  readonly frees?: boolean;
  /** Whether this call may move an older part of the trace to a record of its own. */
  readonly mayMoveTrace?: boolean;
  /** Whether the call adds data at the wish of a caller, so that the bytes of the owner bound it. A job has been admitted whole. */
  readonly grows?: boolean;
  readonly keys?: readonly KeyRequest[];
}

export interface Decided<R> {
  /** `null` leaves the run unchanged. */
  readonly change: Change | null;
  /** Only the lease changes, so the body of the record is not rewritten. */
  readonly leaseOnly?: boolean;
  /** Further writes of the same transaction; ignored if `change` is `null`. */
  readonly writes?: readonly Write[];
  readonly result: R;
}

export interface Changed<R> {
  /** The run after the change. */
  readonly run: Run | undefined;
  readonly result: R;
}

/** One transition of one run: a transaction reads it, a pure rule decides, the store writes; then the queue is notified. */
export async function changeRun<R>(
  runtime: Runtime,
  request: ChangeRequest,
  decide: (run: Run | undefined, found: LoadedRecords, at: number) => Decided<R>,
): Promise<Changed<R>> {
  const { runId, now } = request;
  const baseId = runtime.ids.next();
  const once = (counters: readonly ActiveCounter[]) => transition(runtime, request, baseId, counters, decide);
  // Read the active-run counter only when the run will probably end: it costs a read and is contended.
  const scope = runtime.scopes.of(runId);
  const guess = request.mayEnd === true ? countersOf(runtime.options, { id: runId, scope }) : [];
  const tried = await once(guess);
  const done = 'missing' in tried ? await once(tried.missing) : tried;
  if ('missing' in done)
    throw new Error('a run that ends must leave the active count in the same transaction');
  if (done.run !== undefined) runtime.scopes.saw(done.run);
  // Notify before returning: a late message could overwrite newer queue state.
  if (done.run !== undefined && done.run !== done.before)
    await announceChange(runtime, done.before, done.run, now);
  if (request.mayMoveTrace === true && done.run !== undefined && overflowingTrace(done.run).length > 0) {
    await afterWrite(runtime, 'A trace could not be moved out of its run', () =>
      moveTrace(runtime, runId, runTraceKey(runId, baseId)),
    );
  }
  return { run: done.run, result: done.result };
}

type Transition<R> =
  | (Changed<R> & { readonly before: Run | undefined })
  | { readonly missing: readonly ActiveCounter[] };

/** Returns the counters of a run that would end, and writes nothing, if `counters` lacks one of them. */
async function transition<R>(
  runtime: Runtime,
  request: ChangeRequest,
  baseId: string,
  counters: readonly ActiveCounter[],
  decide: (run: Run | undefined, found: LoadedRecords, at: number) => Decided<R>,
): Promise<Transition<R>> {
  const { runId } = request;
  const key = runKey(runId);
  const counted = counters.map((counter): KeyRequest => ({ key: counter.key }));
  const keys: KeyRequest[] = [{ key, view: 'body' }, ...(request.keys ?? []), ...counted];
  const store = await runtime.store();
  return store.transact<Transition<R>>(
    runtime.scope,
    { gate: key, keys, frees: request.mayEnd === true || request.frees === true },
    (found) => {
      const record = found.get(key);
      const before = record === undefined ? undefined : readRun(record, runId);
      const at = decisionTime(runtime.world.clock, request.now);
      const { change, result, writes = [], leaseOnly = false } = decide(before, found, at);
      if (change === null) return { writes: [], result: { before, run: before, result } };
      if (leaseOnly) {
        const { run } = change;
        const all = [{ put: heartbeatRecord(run) }, ...writes];
        return { writes: all, result: { before, run, result }, owner: ownerOfRun(run) };
      }
      const run = withTrace(change, baseId, at, traceLimits(runtime, change.run));
      const all: Write[] = [{ put: runRecord(run) }, ...writes];
      if (before?.counted === true && !run.counted) {
        const ending = countersOfRun(runtime.options, before);
        if (!ending.every(({ key: each }) => counted.some((asked) => asked.key.id === each.id)))
          return { writes: [], result: { missing: ending } };
        all.push(...ending.map((counter) => decremented(found, counter)));
      }
      // A handler of this process sends no requests: its pace is not that of a caller.
      const by = before?.lease?.kind === 'process' ? 'job' : 'request';
      const grows = request.grows === true && run.job === undefined && by;
      return { writes: all, result: { before, run, result }, owner: ownerOfRun(run), grows };
    },
  );
}

/** Moves a trace that has grown too long from the run's record to a record of its own. */
async function moveTrace(runtime: Runtime, runId: string, key: RecordKey): Promise<void> {
  const store = await runtime.store();
  const keys: KeyRequest[] = [
    { key: runKey(runId), view: 'body' },
    { key, expectAbsent: true },
  ];
  await store.transact(runtime.scope, { gate: runKey(runId), keys }, (found) => {
    const record = found.get(runKey(runId));
    const run = record === undefined ? undefined : readRun(record, runId);
    const moving = run === undefined ? [] : overflowingTrace(run);
    if (run === undefined || moving.length === 0 || found.get(key) !== undefined)
      return { writes: [], result: null };
    const trace = runTraceRecord(runId, moving);
    const writes: Write[] = [{ put: { ...trace, key } }, { put: runRecord({ ...run, trace: [] }) }];
    return { writes, result: null, owner: ownerOfRun(run) };
  });
}

export function traceLimits(runtime: Runtime, run: Run): RunTraceLimits {
  return {
    eventsPerRunMax: runtime.options.traceEventsPerRunMax,
    messageLengthMax: limits.executionTraceMessageLengthMax,
    redacted: runtime.policies.redactedNames(run.scope),
  };
}
