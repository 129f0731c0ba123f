import type { PlaceOwner, PlaceOwners } from '../kernel/waiting-places.ts';
import type { MayTake, ReadyCall } from '../queue/port.ts';
import { leaseOldest } from './lease-oldest.ts';
import { type LeaseWish, leaseRunById } from './lease-run.ts';
import type { Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { settleDue } from './settle.ts';

/**
 * The longest wait of a call, and the owners to whom the wait is counted: the caller, and one of the owners whose runs
 * it may get.
 */
interface NextWait {
  readonly waitMs: number;
  readonly owners: PlaceOwners;
  readonly served: readonly PlaceOwner[];
}

export interface NextWish extends LeaseWish {
  /** `null`: the call does not wait for a run. */
  readonly wait: NextWait | null;
  /** Whether the local queue wakes the caller for each ready run, so that it need not search for runs of other processes. */
  readonly isNotified: boolean;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** Announced runs that one call tries at most: rivals may lease each of them first. */
const TRIES_MAX = 100;

/**
 * Leases the run that has been ready longest, waits for one if there is none, and returns `null` when the time is over. A
 * run that this process made ready is leased without a search of the store.
 */
export async function leaseNext(runtime: Runtime, wish: NextWish): Promise<Run | null> {
  const { ready } = runtime;
  if (ready === null) return leaseAnnouncedOrSearch(runtime, wish);
  const { handlerIds, wait, signal } = wish;
  const place = wait === null ? null : runtime.leasePlaces.take(wait.owners, wait.served);
  const call = ready.enter(handlerIds, wait === null ? null : { waitMs: wait.waitMs, place }, signal);
  const stopRechecks = recheckPeriodically(runtime, call);
  const passedOver = ({ id, handlerId }: Run) => call.passOn(handlerId, id);
  const heldBack = (run: Run) => ready.putBack(run.handlerId, { runId: run.id, owner: slotOwner(run) });
  try {
    do {
      const run = await leaseAnnouncedOrSearch(runtime, { ...wish, passedOver, heldBack });
      if (run !== null) return run;
    } while (await call.next());
    return null;
  } finally {
    stopRechecks();
    call.leave();
  }
}

/** Time between two searches of a waiting call without announcements, at first and at most. */
const RECHECK_MS_MIN = 1_000;
const RECHECK_MS_MAX = 8_000;

const noTimer = (): void => undefined;

/** In a function no process settles due runs or watches other processes, so each waiting call does it. */
function recheckPeriodically({ settlesDueRuns, world }: Runtime, call: ReadyCall): () => void {
  if (settlesDueRuns()) return noTimer;
  let recheckMs = RECHECK_MS_MIN;
  let stop = noTimer;
  const schedule = (): void => {
    stop = world.timers.after(recheckMs, () => {
      recheckMs = Math.min(2 * recheckMs, RECHECK_MS_MAX);
      call.wake();
      schedule();
    });
  };
  schedule();
  return () => stop();
}

async function leaseAnnouncedOrSearch(runtime: Runtime, wish: NextWish): Promise<Run | null> {
  const { ready, world } = runtime;
  const mayTake: MayTake = (owner) => wish.share?.mayTake(owner) !== false;
  let tries = 0;
  for (; tries < TRIES_MAX; tries += 1) {
    const runId = ready?.take(wish.handlerIds, mayTake) ?? null;
    if (runId === null) break;
    let run: Run | null;
    try {
      run = await leaseRunById(runtime, runId, wish, world.clock.now());
    } catch (error) {
      // The local queue has dropped the run, so only the store knows it now.
      for (const handlerId of wish.handlerIds) ready?.hint(handlerId);
      throw error;
    }
    if (run !== null) return run;
  }
  // Runs of a taken key may precede a run that can be leased: a search skips them.
  const isDone = tries < TRIES_MAX && ready?.mustSearch(wish.handlerIds, mayTake) === false;
  if (wish.isNotified && runtime.settlesDueRuns() && isDone) return null;
  const run = await search(runtime, wish, world.clock.now());
  if (run !== null || runtime.settlesDueRuns()) return run;
  const { moved } = await settleDue(runtime, world.clock.now());
  return moved === 0 ? null : search(runtime, wish, world.clock.now());
}

async function search(runtime: Runtime, wish: NextWish, now: number): Promise<Run | null> {
  const mark = runtime.ready?.mark ?? 0;
  const [draw = 0] = runtime.world.random.bytes(1);
  // Functions share no memory: a random start keeps them from all trying the same run.
  const offset = runtime.settlesDueRuns() ? 0 : draw;
  const { run, candidates, complete, heldBack } = await leaseOldest(runtime, wish, now, offset);
  for (const handlerId of wish.handlerIds) {
    const others = candidates.filter((each) => each.handlerId === handlerId && each.id !== run?.id);
    const runs = others.map((each) => ({ runId: each.id, owner: slotOwner(each) }));
    runtime.ready?.learn(handlerId, runs, complete.has(handlerId), mark, heldBack.get(handlerId));
  }
  return run;
}
