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
  const passedOver = ({ id, handlerId }: Run) => call.passOn(handlerId, id);
  try {
    do {
      const run = await lookHereFirst(runtime, { ...wish, passedOver });
      if (run !== null) return run;
    } while (await call.next());
    return null;
  } finally {
    call.leave();
  }
}

async function lookHereFirst(runtime: Runtime, wish: NextWish): Promise<Run | null> {
  const { ready, world } = runtime;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const runId = ready?.take(wish.handlerIds) ?? null;
    if (runId === null) break;
    const run = await leaseRunById(runtime, runId, wish, world.clock.now());
    if (run !== null) return run;
  }
  // Whoever is told of what comes need not search; any other call has this one look to find what other processes left.
  if (wish.told && ready?.mustLook(wish.handlerIds) === false) return null;
  const run = await look(runtime, wish, world.clock.now());
  if (run !== null || runtime.looksAfterTime()) return run;
  const { moved } = await settleDue(runtime, world.clock.now());
  return moved === 0 ? null : look(runtime, wish, world.clock.now());
}

async function look(runtime: Runtime, wish: NextWish, now: number): Promise<Run | null> {
  const [draw = 0] = runtime.world.random.bytes(1);
  const { run, candidates, complete } = await leaseOldest(
    runtime,
    wish,
    now,
    runtime.ready === null ? draw : 0,
  );
  for (const handlerId of wish.handlerIds) {
    const others = candidates.filter(
      (candidate) => candidate.handlerId === handlerId && candidate.id !== run?.id,
    );
    runtime.ready?.learn(
      handlerId,
      others.map(({ id }) => id),
      complete.has(handlerId),
    );
  }
  return run;
}
