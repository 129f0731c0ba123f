import { limits } from '../../contracts/generated/limits.ts';
import { describeFailure } from '../kernel/log.ts';
import type { Found, KeyRequest, RecordKey, RecordPage, Write } from '../store/port.ts';
import {
  activeCounterKey,
  dueOf,
  heartbeatRecord,
  isActive,
  RUN_GROUP,
  RUN_INDEX,
  RUNS,
  readRun,
  runKey,
  runRecord,
  shardOf,
  traceKey,
  traceRecord,
} from './records.ts';
import { type Change, isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { overflowingTrace, type TraceLimits, withTrace } from './trace.ts';

export interface ChangeRequest {
  readonly runId: string;
  readonly now: number;
  /** Whether the decision is likely to end the run, and so the room that it takes among the active ones. */
  readonly mayEnd?: boolean;
  /** Whether an older part of the trace may move out with this write. */
  readonly mayMoveTrace?: boolean;
  readonly keys?: readonly KeyRequest[];
}

export interface Decided<R> {
  /** `null` leaves the run as it is. */
  readonly change: Change | null;
  /** Only the lease was moved: what the run carries is not written again. */
  readonly leaseOnly?: boolean;
  /** What is written with the run; nothing of it where `change` is `null`. */
  readonly writes?: readonly Write[];
  readonly result: R;
}

export interface Changed<R> {
  /** As it is now. */
  readonly run: Run | undefined;
  readonly result: R;
}

/** One transition of one run: read, decided by a pure rule, and written with its trace in one transaction; then told. */
export async function changeRun<R>(
  runtime: Runtime,
  request: ChangeRequest,
  decide: (run: Run | undefined, found: Found) => Decided<R>,
): Promise<Changed<R>> {
  const { runId, now } = request;
  const baseId = runtime.ids.next();
  const once = (counting: boolean) => transition(runtime, request, baseId, counting, decide);
  // Who counts the run out is asked for only where it is likely to end: reading it along costs, and rivals for it hold up.
  const done = (await once(request.mayEnd === true)) ?? (await once(true));
  if (done === null) throw new Error('a run that ends is counted out in the same transaction');
  // Told first: what is told late, after what came later, would say of the run what holds no more.
  if (done.run !== undefined && done.run !== done.before)
    await announceChange(runtime, done.before, done.run, now);
  if (request.mayMoveTrace === true && done.run !== undefined && overflowingTrace(done.run).length > 0) {
    await afterwards(runtime, 'A trace could not be moved out of its run', () =>
      moveTrace(runtime, runId, traceKey(runId, baseId)),
    );
  }
  return { run: done.run, result: done.result };
}

/** `null`: the run would end, and `counting` is false; nothing was written. */
async function transition<R>(
  runtime: Runtime,
  request: ChangeRequest,
  baseId: string,
  counting: boolean,
  decide: (run: Run | undefined, found: Found) => Decided<R>,
): Promise<(Changed<R> & { readonly before: Run | undefined }) | null> {
  const { runId, now } = request;
  const key = runKey(runId);
  const counter = counterKeyOf(runtime, runId);
  const keys: KeyRequest[] = [{ key, view: 'body' }, ...(request.keys ?? [])];
  if (counting && counter !== null) keys.push({ key: counter });
  const store = await runtime.store();
  return store.transact(runtime.scope, { gate: key, keys }, (found) => {
    const record = found.get(key);
    const before = record === undefined ? undefined : readRun(record, runId);
    const { change, result, writes = [], leaseOnly = false } = decide(before, found);
    if (change === null) return { writes: [], result: { before, run: before, result } };
    if (leaseOnly) {
      const { run } = change;
      return { writes: [{ put: heartbeatRecord(run) }, ...writes], result: { before, run, result } };
    }
    const run = withTrace(change, baseId, now, traceLimits(runtime, change.run));
    const all: Write[] = [{ put: runRecord(run) }, ...writes];
    if (before?.counted === true && !run.counted && counter !== null) {
      if (!counting) return { writes: [], result: null };
      all.push(countedDown(found, counter));
    }
    return { writes: all, result: { before, run, result } };
  });
}

/** The trace that has grown too long for its run goes to a record of its own; the run keeps what comes after. */
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
    const trace = traceRecord(runId, moving);
    return { writes: [{ put: { ...trace, key } }, { put: runRecord({ ...run, trace: [] }) }], result: null };
  });
}

export function traceLimits(runtime: Runtime, run: Run): TraceLimits {
  return {
    eventsPerRunMax: runtime.options.traceEventsPerRunMax,
    messageLengthMax: limits.executionTraceMessageLengthMax,
    redacted: runtime.policies.redactedNames(run.scope),
  };
}

/** The record that counts this run among the active ones; `null` where nothing counts them. */
export function counterKeyOf({ options }: Runtime, runId: string): RecordKey | null {
  if (options.activeRunsMax === null) return null;
  return activeCounterKey(shardOf(runId, options.counterShards));
}

export function activeIn(found: Found, counter: RecordKey): number {
  const active = found.get(counter)?.head.active;
  return typeof active === 'number' ? active : 0;
}

function countedDown(found: Found, counter: RecordKey): Write {
  return { put: { key: counter, head: { active: Math.max(0, activeIn(found, counter) - 1) } } };
}

/** What follows a write that is durable must not make its caller believe that it was not. */
async function afterwards(runtime: Runtime, message: string, act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return false;
  }
}

/** Tells the queue what the run now waits for; `false` where it could not. What is not told is found again in the store. */
export function announceChange(
  runtime: Runtime,
  before: Run | undefined,
  run: Run,
  now: number,
): Promise<boolean> {
  const act = () => tellQueue(runtime, before, run, now);
  return afterwards(runtime, 'The queue was not told of a change of a run', act);
}

async function tellQueue(runtime: Runtime, before: Run | undefined, run: Run, now: number): Promise<void> {
  if (isTerminal(run.status)) runtime.watch.ended(run);
  try {
    await tellOf(runtime, before, run, now);
  } finally {
    await tellRivals(runtime, before, run, now);
  }
}

async function tellOf({ queue }: Runtime, before: Run | undefined, run: Run, now: number): Promise<void> {
  const message = { runId: run.id, handlerId: run.handlerId, attempt: run.attempt };
  if (run.status === 'queued' && before?.status !== 'queued') {
    const reason = before?.status === 'waiting' && before.wait !== null ? 'external_event' : 'run_ready';
    await queue.enqueue({ ...message, reason, notBefore: now });
  } else if (run.status === 'running' && run.lease !== null) {
    // What is delivered to a process of ours is answered when it is done: where that breaks off it is delivered again, and
    // then the end of the lease is told of.
    if (queue.delivers === true && run.lease.kind === 'process') return;
    const renewed = before?.lease?.tokenHash === run.lease.tokenHash;
    await queue.enqueue({ ...message, reason: 'lease_expired', notBefore: run.lease.expiresAt, renewed });
  } else if (run.status === 'waiting') {
    const dueAt = run.wait === null ? run.scheduledAt : run.wait.dueAt;
    if (dueAt !== null) await queue.enqueue({ ...message, reason: 'timer_due', notBefore: dueAt });
    else queue.forget?.(run.id);
  } else if (isTerminal(run.status)) queue.forget?.(run.id);
}

/** The runs that waited for the concurrency key of this one. */
async function tellRivals(runtime: Runtime, before: Run | undefined, run: Run, now: number): Promise<void> {
  if (before?.status === 'running' && run.status !== 'running' && before.concurrencyKey !== null) {
    await offerNext(runtime, before.concurrencyKey, `${before.id} ${before.attempt}`, now);
  } else if (before?.status === 'queued' && isTerminal(run.status)) {
    // The key may have been offered to this run, and to no other.
    const concurrencyKey = runtime.registry.get(run.handlerId)?.concurrencyKey ?? null;
    if (concurrencyKey !== null) await offerNext(runtime, concurrencyKey, `${run.id} ended`, now);
  }
}

/** How much later than asked for a moment is told of again that is all but there: a delivery may be early by two clocks. */
const EARLY_MS = 1_000;

/**
 * A message came too early: a schedule is further away than the queue takes, or a lease was renewed. The moment that counts
 * is told of; where that fails, the run is found once it is due.
 */
export async function tellAgain(runtime: Runtime, run: Run, now: number): Promise<void> {
  const { queue } = runtime;
  const dueAt = dueOf(run);
  if (queue.delivers !== true || dueAt === null) return;
  const { id: runId, handlerId, attempt } = run;
  const reason = run.status === 'running' ? 'lease_expired' : 'timer_due';
  const notBefore = Math.max(dueAt, now + EARLY_MS);
  // Deliveries that come too early by about as much have one successor; one that is closer to the moment has its own.
  const again = `early ${Math.ceil(Math.log2((notBefore - now) / EARLY_MS))}`;
  await afterwards(runtime, 'The queue was not told again of a run that is not due', async () => {
    await queue.enqueue({ runId, handlerId, attempt, reason, notBefore, again });
  });
}

/** A concurrency key is free: the oldest run of each handler that waits for it is told of, since not every handler has a worker. */
async function offerNext(
  runtime: Runtime,
  concurrencyKey: string,
  again: string,
  now: number,
): Promise<void> {
  const handlerIds = runtime.registry.sharing(concurrencyKey);
  const heads = await Promise.all(handlerIds.map((handlerId) => queuedRuns(runtime, handlerId, 1)));
  for (const { id: runId, handlerId, attempt } of heads.flat().sort((a, b) => (a.id < b.id ? -1 : 1))) {
    await runtime.queue.enqueue({ runId, handlerId, attempt, reason: 'run_ready', notBefore: now, again });
  }
}

/** Queued runs that one look at them takes in for those that are wanted. */
const LOOKED_AT_MAX = 1_024;

/**
 * Where, for each handler, the next search goes on that finds nothing among its oldest queued runs: what one search does not
 * reach, another will. Only handlers with longer queues than one search looks at have a place.
 */
const places = new WeakMap<Runtime, Map<string, string>>();

/** Queued runs of one handler that are wanted, oldest first; where none of the oldest are, some of those after them. */
export async function queuedRuns(
  runtime: Runtime,
  handlerId: string,
  limit: number,
  isWanted: (run: Run) => boolean = () => true,
): Promise<Run[]> {
  const look = (after: string | null, most: number) =>
    lookAtQueued(runtime, { handlerId, limit, isWanted, after, most });
  const oldest = await look(null, LOOKED_AT_MAX);
  if (oldest.found.length > 0 || oldest.next === null) return oldest.found;
  const known = places.get(runtime) ?? new Map<string, string>();
  places.set(runtime, known);
  // Not always as many: workers that ask by turns would for ever see the same part of the queue, each another's.
  const skipped = runtime.world.random.bytes(1)[0] ?? 0;
  const further = await look(known.get(handlerId) ?? oldest.next, LOOKED_AT_MAX - skipped);
  // What was found is not all taken by one worker: the next search finds the rest where this one did.
  if (further.next === null) known.delete(handlerId);
  else if (further.found.length === 0) known.set(handlerId, further.next);
  return further.found;
}

interface Look {
  readonly handlerId: string;
  readonly limit: number;
  readonly isWanted: (run: Run) => boolean;
  readonly after: string | null;
  readonly most: number;
}

async function lookAtQueued(
  runtime: Runtime,
  { handlerId, limit, isWanted, after, most }: Look,
): Promise<{ readonly found: Run[]; readonly next: string | null }> {
  const store = await runtime.store();
  const found: Run[] = [];
  let next = after;
  let looked = 0;
  do {
    const page: RecordPage = await store.query(runtime.scope, {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.lane]: handlerId },
      limit,
      ...(next === null ? {} : { after: next }),
    });
    found.push(
      ...page.records.map((record) => readRun(record)).filter((run) => isActive(run) && isWanted(run)),
    );
    looked += page.records.length;
    next = page.next;
  } while (next !== null && found.length < limit && looked < most);
  return { found: found.slice(0, limit), next };
}
