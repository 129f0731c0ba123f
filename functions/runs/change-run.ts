import { limits } from '../../contracts/generated/limits.ts';
import { decisionTime } from '../kernel/world.ts';
import type { KeyRequest, LoadedRecords, RecordKey, Write } from '../store/port.ts';
import { type ActiveCounter, countersOf, countersOfRun, decremented } from './active-runs.ts';
import { afterWrite, announceChange } from './announcements.ts';
import { type Kin, kinOf } from './child-end.ts';
import {
  childLinkKey,
  heartbeatRecord,
  readRun,
  runKey,
  runRecord,
  runTraceKey,
  runTraceRecord,
} from './records.ts';
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
  /** The children of the run are to be cancelled: their records do so later if the caller does not. */
  readonly cascades?: boolean;
}

/** One transition of one run: a transaction reads it, a pure rule decides, the store writes; then the queue is notified. */
export async function changeRun<R>(
  runtime: Runtime,
  request: ChangeRequest,
  decide: (run: Run | undefined, found: LoadedRecords, at: number) => Decided<R>,
): Promise<Changed<R>> {
  const { runId, now } = request;
  const baseId = runtime.ids.next();
  // Read the active-run counter only when the run will probably end: it costs a read and is contended.
  let beside = request.mayEnd === true ? guessed(runtime, runId) : NOTHING;
  let done = await transition(runtime, request, baseId, beside, decide);
  // The counters, the link of the parent, the parent, and the cascade to the children.
  for (let tries = 0; 'missing' in done && tries < MISSING_MAX; tries += 1) {
    beside = joined(beside, done.missing);
    done = await transition(runtime, request, baseId, beside, decide);
  }
  if ('missing' in done)
    throw new Error('a run that ends must leave the active count in the same transaction');
  if (done.run !== undefined) runtime.scopes.saw(done.run);
  // Notify before returning: a late message could overwrite newer queue state.
  if (done.run !== undefined && done.run !== done.before)
    await announceChange(runtime, done.before, done.run, now);
  if (done.woken !== undefined) await announceChange(runtime, done.woken.before, done.woken.run, now);
  if (request.mayMoveTrace === true && done.run !== undefined) await moveLongTrace(runtime, done.run, baseId);
  const cascades = done.cascades === true ? { cascades: true } : {};
  return { run: done.run, result: done.result, ...cascades };
}

/** Records beside the run that a transaction requests because the run may end. */
interface Beside {
  readonly counters: readonly ActiveCounter[];
  readonly keys: readonly KeyRequest[];
}

const NOTHING: Beside = { counters: [], keys: [] };

/** Kinds of records that a transaction may find missing, one after another. */
const MISSING_MAX = 4;

function guessed({ options, scopes }: Runtime, runId: string): Beside {
  const counters = countersOf(options, { id: runId, scope: scopes.of(runId) });
  const parentId = scopes.parentOf(runId);
  return { counters, keys: parentId === null ? [] : [{ key: childLinkKey(parentId, runId) }] };
}

function joined(one: Beside, more: Partial<Beside>): Beside {
  return { counters: more.counters ?? one.counters, keys: [...one.keys, ...(more.keys ?? [])] };
}

interface Woken {
  readonly before: Run;
  readonly run: Run;
}

type Transition<R> =
  | (Changed<R> & { readonly before: Run | undefined; readonly woken?: Woken })
  | { readonly missing: Partial<Beside> };

/** Returns the records beside a run that would end, and writes nothing, if `beside` lacks one of them. */
async function transition<R>(
  runtime: Runtime,
  request: ChangeRequest,
  baseId: string,
  beside: Beside,
  decide: (run: Run | undefined, found: LoadedRecords, at: number) => Decided<R>,
): Promise<Transition<R>> {
  const { runId } = request;
  const key = runKey(runId);
  const counted = beside.counters.map((counter): KeyRequest => ({ key: counter.key }));
  const keys: KeyRequest[] = [{ key, view: 'body' }, ...(request.keys ?? []), ...beside.keys, ...counted];
  const has = (wanted: RecordKey) => keys.some((each) => isSameKey(each.key, wanted));
  const wokenId = beside.keys.length > 0 ? runtime.ids.next() : baseId;
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
          return { writes: [], result: { missing: { counters: ending } } };
        all.push(...ending.map((counter) => decremented(found, counter)));
      }
      const kin = kinOf({ before, run, found, has, at, options: runtime.options });
      if ('missing' in kin) return { writes: [], result: { missing: { keys: kin.missing } } };
      const woken = wokenIn(runtime, kin, wokenId, at);
      all.push(...kin.writes, ...(woken === null ? [] : [{ put: runRecord(woken.run) }]));
      // A handler of this process sends no requests: its pace is not that of a caller.
      const by = before?.lease?.kind === 'process' ? 'job' : 'request';
      const grows = request.grows === true && run.job === undefined && by;
      const more = { cascades: kin.cascades, ...(woken === null ? {} : { woken }) };
      return { writes: all, result: { before, run, result, ...more }, owner: ownerOfRun(run), grows };
    },
  );
}

function isSameKey(one: RecordKey, other: RecordKey): boolean {
  return one.id === other.id && one.collection === other.collection;
}

function wokenIn(runtime: Runtime, { woken }: Kin, baseId: string, at: number): Woken | null {
  if (woken === null) return null;
  const { before, change } = woken;
  return { before, run: withTrace(change, baseId, at, traceLimits(runtime, change.run)) };
}

/** After a write that has made the trace of the run longer. */
export async function moveLongTrace(runtime: Runtime, run: Run, baseId: string): Promise<void> {
  if (overflowingTrace(run).length === 0) return;
  await afterWrite(runtime, 'A trace could not be moved out of its run', () =>
    moveTrace(runtime, run.id, runTraceKey(run.id, baseId)),
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
