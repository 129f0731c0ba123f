import type { ReadyCall } from '../queue/port.ts';
import { type LeaseWish, leaseOldest, leaseRunById } from './lease-run.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { settleDue } from './settle.ts';

export interface NextWish extends LeaseWish {
  /** How long the call may wait for a run. */
  readonly waitMs: number;
  /** Whether whoever asks is told of each run that becomes ready, and need not look for what nobody told of. */
  readonly told: boolean;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Looks that one call makes at most without having got a run: rivals may take each one that it was told of. */
const LOOKS_MAX = 100;

/**
 * Leases the run that has been ready longest of those that the wish's handlers execute, as soon as there is one, and `null`
 * where none is within the time. A run that this process has just made ready is leased without a search.
 */
export async function leaseNext(runtime: Runtime, wish: NextWish): Promise<Run | null> {
  const { ready } = runtime;
  if (ready === null) return lookHereFirst(runtime, wish);
  const call = ready.enter(wish.handlerIds, wish.waitMs, wish.signal);
  const stopLooking = lookNowAndThen(runtime, call);
  const passedOver = ({ id, handlerId }: Run) => call.passOn(handlerId, id);
  try {
    do {
      const run = await lookHereFirst(runtime, { ...wish, passedOver });
      if (run !== null) return run;
    } while (await call.next());
    return null;
  } finally {
    stopLooking();
    call.leave();
  }
}

/** How long a call that nobody tells of anything goes without a look, at first and at most. */
const RECHECK_MS_MIN = 1_000;
const RECHECK_MS_MAX = 8_000;

const noTimer = (): void => undefined;

/** Where nobody here looks after time and other processes, as in a function, each call that waits does so itself. */
function lookNowAndThen({ looksAfterTime, world }: Runtime, call: ReadyCall): () => void {
  if (looksAfterTime()) return noTimer;
  let recheckMs = RECHECK_MS_MIN;
  let stop = noTimer;
  const later = (): void => {
    stop = world.timers.after(recheckMs, () => {
      recheckMs = Math.min(2 * recheckMs, RECHECK_MS_MAX);
      call.wake();
      later();
    });
  };
  later();
  return () => stop();
}

async function lookHereFirst(runtime: Runtime, wish: NextWish): Promise<Run | null> {
  const { ready, world } = runtime;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const runId = ready?.take(wish.handlerIds) ?? null;
    if (runId === null) break;
    let run: Run | null;
    try {
      run = await leaseRunById(runtime, runId, wish, world.clock.now());
    } catch (error) {
      // What was taken is known to the store alone now.
      ready?.doubt(wish.handlerIds);
      throw error;
    }
    if (run !== null) return run;
  }
  // Whoever is told of what comes need not search; any other call has this one look to find what other processes left.
  if (wish.told && runtime.looksAfterTime() && ready?.mustLook(wish.handlerIds) === false) return null;
  const run = await look(runtime, wish, world.clock.now());
  if (run !== null || runtime.looksAfterTime()) return run;
  const { moved } = await settleDue(runtime, world.clock.now());
  return moved === 0 ? null : look(runtime, wish, world.clock.now());
}

async function look(runtime: Runtime, wish: NextWish, now: number): Promise<Run | null> {
  const mark = runtime.ready?.mark ?? 0;
  const [draw = 0] = runtime.world.random.bytes(1);
  const { run, candidates, complete } = await leaseOldest(
    runtime,
    wish,
    now,
    // Functions come and go and know of nothing: not all of them should try the same one.
    runtime.looksAfterTime() ? 0 : draw,
  );
  for (const handlerId of wish.handlerIds) {
    const others = candidates.filter(
      (candidate) => candidate.handlerId === handlerId && candidate.id !== run?.id,
    );
    runtime.ready?.learn(
      handlerId,
      others.map(({ id }) => id),
      complete.has(handlerId),
      mark,
    );
  }
  return run;
}
