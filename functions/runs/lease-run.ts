import { sha256 } from '../kernel/canonical-json.ts';
import type { Found, KeyRequest, RecordData, Write } from '../store/port.ts';
import { requeueEarlyDelivery } from './announcements.ts';
import { changeRun } from './change-run.ts';
import { readRun, runKey, slotKey } from './records.ts';
import { leaseIsOver, settleRun } from './rules/due.ts';
import { type LeaseGrant, leaseRun } from './rules/lease.ts';
import { type Change, isTerminal, type Run, type RunScope } from './run.ts';
import type { Runtime } from './runtime.ts';
import { settleOne } from './settle.ts';

/** Rivals for one concurrency key change who holds it between two reads; then it is read anew, so often at most. */
const SLOT_TRIES_MAX = 5;

/** A worker that asks for a run, or the process that wants to execute one itself. */
export interface LeaseWish {
  readonly kind: 'external' | 'process';
  readonly workerId: string;
  readonly handlerIds: ReadonlySet<string>;
  readonly ttlMs: number;
  /** Known to the worker alone; only its hash is kept. */
  readonly token: string;
  /** Whether the caller's identity may be handed this run. */
  readonly mayLease: (run: { readonly scope: RunScope | null; readonly handlerId: string }) => boolean;
  /** The run was named by a message of the queue, which is gone now: where it came too early there has to be another. */
  readonly delivered?: boolean;
  /** Told of a queued run that is for another worker of its handler. */
  readonly passedOver?: (run: Run) => void;
}

/**
 * Leases this run if it is due, one of the wish's handlers executes it, nobody holds it and its concurrency key is free;
 * `null` otherwise. Of many that ask at once one gets it.
 */
export async function leaseRunById(
  runtime: Runtime,
  runId: string,
  wish: LeaseWish,
  now: number,
): Promise<Run | null> {
  const sharing = [...wish.handlerIds].some(
    (id) => (runtime.registry.get(id)?.concurrencyKey ?? null) !== null,
  );
  if (!sharing) return leaseFree(runtime, runId, wish, now);
  const store = await runtime.store();
  const key = runKey(runId);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key, view: 'head' }] });
  const handlerId = records[0]?.head.handlerId;
  const concurrencyKey =
    typeof handlerId === 'string' ? (runtime.registry.get(handlerId)?.concurrencyKey ?? null) : null;
  return concurrencyKey === null
    ? leaseFree(runtime, runId, wish, now)
    : leaseSharing(runtime, runId, concurrencyKey, wish, now);
}

function leaseFree(runtime: Runtime, runId: string, wish: LeaseWish, now: number): Promise<Run | null> {
  return attempt(runtime, runId, wish, now, null);
}

/** Runs of one concurrency key: who holds the key is told by the slot, and whether it still does by that run itself. */
async function leaseSharing(
  runtime: Runtime,
  runId: string,
  concurrencyKey: string,
  wish: LeaseWish,
  now: number,
): Promise<Run | null> {
  const store = await runtime.store();
  const slot = slotKey(concurrencyKey);
  for (let tries = 0; tries < SLOT_TRIES_MAX; tries += 1) {
    const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key: slot }] });
    const holderId = holderOf(records[0]);
    const sharing: Sharing = { concurrencyKey, holderId, rival: false, lapsed: false };
    const run = await attempt(runtime, runId, wish, now, sharing);
    if (!sharing.rival && !sharing.lapsed) return run;
    // Written down first: by a slower clock the lease may still hold, and its worker would go on beside the next one.
    if (sharing.lapsed && holderId !== null) await settleOne(runtime, holderId, now);
  }
  return null;
}

interface Sharing {
  readonly concurrencyKey: string;
  readonly holderId: string | null;
  /** Set where another run took the key since its holder was read. */
  rival: boolean;
  /** Set where the lease of the run that has the key ran out, and nobody has said so yet. */
  lapsed: boolean;
}

function holderOf(slot: RecordData | undefined): string | null {
  const runId = slot?.head.runId;
  return typeof runId === 'string' ? runId : null;
}

async function attempt(
  runtime: Runtime,
  runId: string,
  wish: LeaseWish,
  now: number,
  sharing: Sharing | null,
): Promise<Run | null> {
  const grant: LeaseGrant = {
    kind: wish.kind,
    workerId: wish.workerId,
    tokenHash: sha256(wish.token),
    ttlMs: wish.ttlMs,
    concurrencyKey: sharing?.concurrencyKey ?? null,
  };
  const keys: KeyRequest[] = [];
  if (sharing !== null) keys.push({ key: slotKey(sharing.concurrencyKey) });
  if (sharing?.holderId != null && sharing.holderId !== runId) {
    keys.push({ key: runKey(sharing.holderId), view: 'body' });
  }
  const { run, result } = await changeRun<Attempted>(
    runtime,
    { runId, now, keys, mayMoveTrace: true },
    (before, found) => {
      if (before === undefined || !isFor(runtime, before, wish)) {
        return { change: null, result: before === undefined ? 'no' : notFor(before, wish) };
      }
      const settled = settleRun(before, now, runtime.options);
      // Its end is written by the one who counts it out.
      if (settled !== null && isTerminal(settled.run.status)) {
        return { change: null, result: 'settle' };
      }
      const due = settled?.run ?? before;
      if (sharing !== null && isTaken(found, due, sharing, now)) {
        // Its moment is over and its message gone: queued, it is found by whoever gives the key back.
        return { change: wish.delivered === true ? settled : null, result: 'not-now' };
      }
      const leased = leaseRun(due, grant, now);
      if (leased === null) return { change: null, result: 'not-now' };
      const change: Change = { run: leased.run, events: [...(settled?.events ?? []), ...leased.events] };
      return { change, writes: slotWrites(leased.run, sharing), result: 'leased' };
    },
  );
  if (result === 'another' && run !== undefined) wish.passedOver?.(run);
  if (result === 'settle') await settleOne(runtime, runId, now);
  // Its workers poll: what the message was about is done for them, and they find the run where it changes.
  const seen = result === 'elsewhere' ? await settleOne(runtime, runId, now) : run;
  if ((result === 'not-now' || result === 'elsewhere') && wish.delivered === true && seen !== undefined)
    await requeueEarlyDelivery(runtime, seen, now);
  return result === 'leased' ? (run ?? null) : null;
}

function isFor(runtime: Runtime, run: Run, wish: LeaseWish): boolean {
  if (!wish.handlerIds.has(run.handlerId) || runtime.registry.get(run.handlerId)?.kind !== wish.kind)
    return false;
  if (wish.kind === 'process') return true;
  return runtime.policies.mayLease(run.scope, wish.workerId) && wish.mayLease(run);
}

type Attempted = 'leased' | 'no' | 'not-now' | 'another' | 'elsewhere' | 'settle';

/** A run that is not for the wish: of another worker of its handler, or, delivered to the hosted worker, of one outside. */
function notFor(run: Run, wish: LeaseWish): Attempted {
  if (wish.kind === 'process' && wish.delivered === true) return 'elsewhere';
  return run.status === 'queued' && wish.handlerIds.has(run.handlerId) ? 'another' : 'no';
}

/** A slot says who took the key last; that run says whether it still works under it. */
function isTaken(found: Found, run: Run, sharing: Sharing, now: number): boolean {
  const slot = found.get(slotKey(sharing.concurrencyKey));
  const holderId = holderOf(slot);
  if (holderId !== sharing.holderId) {
    sharing.rival = true;
    return true;
  }
  sharing.rival = false;
  sharing.lapsed = false;
  if (holderId === null || holderId === run.id) return false;
  const record = found.get(runKey(holderId));
  if (record === undefined) return false;
  const holder = readRun(record, holderId);
  const holds =
    holder.status === 'running' &&
    holder.concurrencyKey === sharing.concurrencyKey &&
    holder.attempt === slot?.head.attempt;
  sharing.lapsed = holds && leaseIsOver(holder, now);
  return holds;
}

function slotWrites(run: Run, sharing: Sharing | null): readonly Write[] {
  if (sharing === null) return [];
  return [{ put: { key: slotKey(sharing.concurrencyKey), head: { runId: run.id, attempt: run.attempt } } }];
}

/** Candidates of one look into the store, for each handler. */
const CANDIDATES = 32;

/**
 * Leases the oldest queued run of the wish's handlers that can be had. `offset` tells where among equals to begin, so that
 * workers that ask at once do not all try the same one.
 */
export async function leaseOldest(
  runtime: Runtime,
  wish: LeaseWish,
  now: number,
  offset: number,
): Promise<Oldest> {
  const others = new Set<string>();
  const isWanted = (run: Run) => {
    const wanted = isFor(runtime, run, wish);
    if (!wanted) others.add(run.handlerId);
    return wanted;
  };
  const lists = await Promise.all(
    [...wish.handlerIds].map(async (id) => ({
      id,
      runs: await runtime.queuedRuns.find(id, CANDIDATES, isWanted),
    })),
  );
  const complete = new Set(
    lists.filter(({ id, runs }) => runs.length < CANDIDATES && !others.has(id)).map(({ id }) => id),
  );
  const candidates = lists.flatMap(({ runs }) => runs).sort((a, b) => (a.id < b.id ? -1 : 1));
  const busy = new Set<string>();
  const start = candidates.length === 0 ? 0 : offset % candidates.length;
  for (const candidate of [...candidates.slice(start), ...candidates.slice(0, start)]) {
    const key = runtime.registry.get(candidate.handlerId)?.concurrencyKey ?? null;
    if (key !== null && busy.has(key)) continue;
    const run = await leaseRunById(runtime, candidate.id, wish, now);
    if (run !== null) return { run, candidates, complete };
    if (key !== null) busy.add(key);
  }
  return { run: null, candidates: [], complete };
}

export interface Oldest {
  readonly run: Run | null;
  /** What else was seen; nothing where none of them could be had. */
  readonly candidates: readonly Run[];
  /** Handlers that have no more queued runs than were seen, for no worker. */
  readonly complete: ReadonlySet<string>;
}
