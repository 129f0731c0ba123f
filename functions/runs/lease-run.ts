import { sha256 } from '../kernel/canonical-json.ts';
import type { LoadedRecords } from '../store/port.ts';
import { requeueEarlyDelivery } from './announcements.ts';
import { changeRun, type Decided } from './change-run.ts';
import { concurrencyKeyOf } from './concurrency-key.ts';
import { offerStartKey } from './offer-start-key.ts';
import { readRun, runKey, slotKey, startSlotOf } from './records.ts';
import { settleRun } from './rules/due.ts';
import { leaseRun, type RunLeaseGrant } from './rules/lease.ts';
import { type Change, isTerminal, type Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { settleOne } from './settle.ts';
import type { SlotClaim } from './slot-shares.ts';
import { handlerSharing, holderOf, type KeyState, type Sharing, startSharing } from './slot-sharing.ts';
import { findSlot } from './start-slot.ts';

/** Rivals for one concurrency key may change its holder between two reads. This many times the holder is read again. */
const SLOT_TRIES_MAX = 5;

/** The request of a worker, or of the engine in this process, for a run. */
export interface LeaseWish {
  readonly kind: 'external' | 'process';
  readonly workerId: string;
  readonly handlerIds: ReadonlySet<string>;
  readonly ttlMs: number;
  /** Known to the worker only; the store keeps its hash. */
  readonly token: string;
  /** Version of the worker's handlers; absent or `null` if it names none. */
  readonly handlerVersion?: string | null;
  /** Versions by handler, where the holder executes several. */
  readonly versions?: ReadonlyMap<string, string>;
  /** Whether the caller may receive this run now: by its identity, or by the share of the run's owner. */
  readonly mayLease: (run: Run) => boolean;
  /** The share of the engine's slots; absent where no share bounds the call. */
  readonly share?: SlotClaim;
  /** Called with a queued run whose owner has no free slot now. */
  readonly heldBack?: (run: Run) => void;
  /** A queue message named the run. The queue has dropped the message, so an early one must be sent again. */
  readonly delivered?: boolean;
  /** Called with a queued run that only another worker of its handler may lease. */
  readonly passedOver?: (run: Run) => void;
  /** Called with the run when it was not leased; `undefined` without such a run. */
  readonly unleased?: (run: Run | undefined) => void;
}

/**
 * Leases this run if it is due, unleased, executed by a handler of the wish, and its concurrency key is free; `null`
 * otherwise. Exactly one of several concurrent callers gets it.
 */
export async function leaseRunById(
  runtime: Runtime,
  runId: string,
  wish: LeaseWish,
  now: number,
): Promise<Run | null> {
  const concurrencyKey = await readConcurrencyKey(runtime, runId, wish);
  if (concurrencyKey !== null) return leaseSharing(runtime, runId, concurrencyKey, wish, now);
  const { run, keyed } = await attempt(runtime, runId, wish, now, null);
  return keyed === undefined ? run : leaseWithStartKey(runtime, keyed, wish, now);
}

/** Leases a run whose start has a concurrency key. Without a place for it, the run waits where no worker finds it. */
async function leaseWithStartKey(
  runtime: Runtime,
  keyed: Run,
  wish: LeaseWish,
  now: number,
): Promise<Run | null> {
  const { id: runId, handlerId } = keyed;
  const slot = { name: startSlotOf(keyed), handlerId };
  const limit = runtime.registry.concurrencyLimitOf(handlerId);
  for (let tries = 0; tries < SLOT_TRIES_MAX; tries += 1) {
    const sharing = startSharing(slot, await findSlot(runtime, slot.name), limit);
    const { run, slot: state } = await attempt(runtime, runId, wish, now, sharing);
    if (state === 'free' || state === 'held') return run;
    // As above: the holders are settled first.
    for (const lapsed of sharing.lapsed()) await settleOne(runtime, lapsed, now);
    // The place may go to this run.
    if (state === 'behind') await offerStartKey(runtime, slot, now);
  }
  return null;
}

/** Reads the run only if a handler of the wish has a concurrency key. */
async function readConcurrencyKey(
  { registry, store: open, scope }: Runtime,
  runId: string,
  { handlerIds }: LeaseWish,
): Promise<string | null> {
  const keyed = [...handlerIds]
    .map((id) => registry.get(id))
    .filter((handler) => handler?.concurrencyKey != null);
  if (keyed.length === 0) return null;
  const store = await open();
  // The key of a job names its space and subject, which only the body holds.
  const view = keyed.some((handler) => handler?.builtIn === true) ? 'body' : 'head';
  const { records } = await store.query(scope, { by: 'keys', keys: [{ key: runKey(runId), view }] });
  const [record] = records;
  if (record === undefined) return null;
  if (view === 'body') return concurrencyKeyOf(registry, readRun(record, runId));
  return concurrencyKeyOf(registry, { handlerId: String(record.head.handlerId) });
}

/** Leases a run with a concurrency key. The slot names the last holder, and that run says whether it still holds the key. */
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
    const { run, slot: state } = await attempt(
      runtime,
      runId,
      wish,
      now,
      handlerSharing(concurrencyKey, holderId),
    );
    if (state !== 'rival' && state !== 'lapsed') return run;
    // Settle the holder first: by a slower clock its lease still holds, and two workers would execute at once.
    if (state === 'lapsed' && holderId !== null) await settleOne(runtime, holderId, now);
  }
  return null;
}

/**
 * `settle`: time has ended the run. `not-due`: it is leased, not due, or its key is held. `other-worker`: a queued run for
 * another worker of its handler. `no-share`: its owner may not have a slot now. `external`: delivered to the hosted worker, but
 * an external worker executes it. `keyed`: the start of the run has a concurrency key, whose slot was not read.
 */
type Verdict =
  | 'leased'
  | 'unavailable'
  | 'not-due'
  | 'other-worker'
  | 'no-share'
  | 'external'
  | 'settle'
  | 'keyed';

interface Attempted {
  readonly verdict: Verdict;
  readonly slot: KeyState;
}

interface Attempt {
  readonly run: Run | null;
  readonly slot: KeyState;
  /** The run, where its start key decides. */
  readonly keyed?: Run;
}

async function attempt(
  runtime: Runtime,
  runId: string,
  wish: LeaseWish,
  now: number,
  sharing: Sharing | null,
): Promise<Attempt> {
  const keys = sharing?.keysOf(runId) ?? [];
  const request = { runId, now, keys, mayMoveTrace: true, frees: true };
  let isLeased = false;
  const change = async () => {
    const changed = await changeRun(runtime, request, (before, found, at) =>
      decideLease(runtime, { wish, now: at, sharing }, before, found),
    );
    isLeased = changed.result.verdict === 'leased';
    return changed;
  };
  const { run, result } = await change().finally(() => {
    if (!isLeased) wish.share?.release();
  });
  const { verdict, slot } = result;
  if (verdict === 'keyed' && run !== undefined) return { run: null, slot, keyed: run };
  if (verdict === 'no-share' && run?.status === 'queued') wish.heldBack?.(run);
  if (verdict === 'other-worker' && run !== undefined) wish.passedOver?.(run);
  // External workers poll for runs, so a queue delivery of such a run only settles it.
  const isSettled = verdict === 'settle' || verdict === 'external';
  const seen = isSettled ? await settleOne(runtime, runId, now) : run;
  if (verdict !== 'leased') wish.unleased?.(seen);
  const early = verdict === 'not-due' || verdict === 'external';
  if (early && wish.delivered === true && seen !== undefined) await requeueEarlyDelivery(runtime, seen, now);
  return { run: verdict === 'leased' ? (run ?? null) : null, slot };
}

interface LeaseCase {
  readonly wish: LeaseWish;
  readonly now: number;
  readonly sharing: Sharing | null;
}

function refused(
  verdict: Verdict,
  slot: KeyState = 'free',
  change: Change | null = null,
): Decided<Attempted> {
  return { change, result: { verdict, slot } };
}

function decideLease(
  runtime: Runtime,
  { wish, now, sharing }: LeaseCase,
  before: Run | undefined,
  found: LoadedRecords,
): Decided<Attempted> {
  if (before === undefined) return refused('unavailable');
  if (!isFor(runtime, before, wish)) return refused(notFor(runtime, before, wish));
  const settled = settleRun(before, now, runtime.options);
  // A run that ends is settled apart, in a transaction with the active-run counter.
  if (settled !== null && isTerminal(settled.run.status)) return refused('settle');
  const due = settled?.run ?? before;
  if (sharing === null && due.startKey !== undefined && due.status === 'queued') return refused('keyed');
  const slot = sharing === null ? 'free' : sharing.stateOf(found, due, now);
  if (slot !== 'free') return waiting({ wish, now, sharing }, slot, due, settled);
  const leased = leaseRun(due, grantOf(wish, sharing, due.handlerId), now);
  if (leased === null) return refused('not-due');
  // Claim last: only a rival or the store can refuse the run after it, so that few claims are released unused.
  wish.share?.claim(slotOwner(due));
  const change: Change = { run: leased.run, events: [...(settled?.events ?? []), ...leased.events] };
  return { change, writes: sharing?.writesOf(leased.run, now) ?? [], result: { verdict: 'leased', slot } };
}

/** The run cannot be leased because of its concurrency key. */
function waiting(
  { wish, now, sharing }: LeaseCase,
  slot: KeyState,
  due: Run,
  settled: Change | null,
): Decided<Attempted> {
  const result = { verdict: 'not-due', slot } as const;
  const begins = due.status === 'queued' && due.waitsForKey !== true;
  if (begins && (slot === 'held' || slot === 'behind') && sharing?.waitWrites !== undefined) {
    const run: Run = { ...due, waitsForKey: true };
    return { change: { run, events: settled?.events ?? [] }, writes: sharing.waitWrites(now), result };
  }
  // The message is consumed, so the settled run is written: the run that frees the key finds it in the queue.
  return { change: wish.delivered === true ? settled : null, result };
}

function grantOf(wish: LeaseWish, sharing: Sharing | null, handlerId: string): RunLeaseGrant {
  const { kind, workerId, token, ttlMs, versions } = wish;
  const handlerVersion = versions?.get(handlerId) ?? wish.handlerVersion ?? null;
  const concurrencyKey = sharing?.concurrencyKey ?? null;
  return { kind, workerId, tokenHash: sha256(token), ttlMs, concurrencyKey, handlerVersion };
}

export function isFor(runtime: Runtime, run: Run, wish: LeaseWish): boolean {
  if (!isExecutedBy(runtime, run, wish)) return false;
  if (wish.kind === 'external' && !runtime.policies.mayLease(run.scope, wish.workerId)) return false;
  return wish.mayLease(run);
}

function isExecutedBy({ registry }: Runtime, { handlerId }: Run, { kind, handlerIds }: LeaseWish): boolean {
  return handlerIds.has(handlerId) && registry.get(handlerId)?.kind === kind;
}

function notFor(runtime: Runtime, run: Run, wish: LeaseWish): Verdict {
  if (wish.kind === 'process' && isExecutedBy(runtime, run, wish)) return 'no-share';
  if (wish.kind === 'process' && wish.delivered === true) return 'external';
  return run.status === 'queued' && wish.handlerIds.has(run.handlerId) ? 'other-worker' : 'unavailable';
}
