import type { PlaceOwners } from '../kernel/waiting-places.ts';
import { isFor, type LeaseWish, leaseRunById } from './lease-run.ts';
import { dueOf } from './records.ts';
import { isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** The longest wait of a call for a named run, with its owners, and the time until which the caller waits. */
export interface NamedWait {
  readonly waitMs: number;
  readonly ownersOf: (run: Run | undefined) => PlaceOwners;
  readonly signal: AbortSignal;
}

/** Leases this run. It waits until the run can be leased, has ended, or the time is over; `null`: it has no lease. */
export async function leaseNamed(
  runtime: Runtime,
  runId: string,
  wish: LeaseWish,
  wait: NamedWait | null,
): Promise<Run | null> {
  const { clock } = runtime.world;
  if (wait === null) return leaseRunById(runtime, runId, { ...wish, delivered: true }, clock.now());
  const { waitMs, signal, ownersOf } = wait;
  // A queue message stands behind the first look alone.
  let delivered = true;
  return runtime.queuedWatch.until({ runId, waitMs, signal }, async () => {
    let seen: Run | undefined;
    const unleased = (found: Run | undefined): void => {
      seen = found;
    };
    const value = await leaseRunById(runtime, runId, { ...wish, delivered, unleased }, clock.now());
    delivered = false;
    const dueAt = seen === undefined ? null : dueOf(seen);
    const mayCome = seen !== undefined && !isTerminal(seen.status) && isFor(runtime, seen, wish);
    return { value, done: !mayCome, owners: ownersOf(seen), dueAt };
  });
}
