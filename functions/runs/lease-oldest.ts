import { isFor, type LeaseWish, leaseRunById } from './lease-run.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Candidates of one search, for each handler. */
const CANDIDATES = 32;

export interface Oldest {
  readonly run: Run | null;
  /** The other runs that the search found; empty if none of them could be leased. */
  readonly candidates: readonly Run[];
  /** Handlers without further queued runs, for any worker. */
  readonly complete: ReadonlySet<string>;
}

/**
 * Leases the oldest queued run that the wish may have. `offset` selects the first candidate to try, so that workers that
 * search at the same time try different runs.
 */
export async function leaseOldest(
  runtime: Runtime,
  wish: LeaseWish,
  now: number,
  offset: number,
): Promise<Oldest> {
  const lists = await Promise.all([...wish.handlerIds].map((id) => candidatesOf(runtime, wish, id)));
  const complete = new Set(lists.filter(({ isComplete }) => isComplete).map(({ handlerId }) => handlerId));
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

async function candidatesOf(runtime: Runtime, wish: LeaseWish, handlerId: string) {
  let unwanted = 0;
  const isWanted = (run: Run) => {
    const wanted = isFor(runtime, run, wish);
    if (!wanted) unwanted += 1;
    return wanted;
  };
  const runs = await runtime.queuedRuns.find(handlerId, CANDIDATES, isWanted);
  return { handlerId, runs, isComplete: runs.length < CANDIDATES && unwanted === 0 };
}
