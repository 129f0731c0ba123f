import type { HeldBack, RunOwner } from '../queue/port.ts';
import { concurrencyKeyOf } from './concurrency-key.ts';
import { isFor, type LeaseWish, leaseRunById } from './lease-run.ts';
import type { Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import type { Runtime } from './runtime.ts';

/** Candidates of one search, for each handler. */
const CANDIDATES = 32;

/** Searches of one call. A run moves out of the queue at most once for each wait, so later calls find fewer of them. */
const PASSES_MAX = 8;

export interface Oldest {
  readonly run: Run | null;
  /** The other runs of the search; empty when none of the runs could be leased. */
  readonly candidates: readonly Run[];
  /** Handlers without further queued runs, for any worker, but for those held back. */
  readonly complete: ReadonlySet<string>;
  readonly heldBack: ReadonlyMap<string, HeldBack>;
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
  let found = await leaseOneOf(runtime, wish, now, offset);
  // The runs that wait for a key now are found no more: those behind them come next.
  for (let passes = 1; found.isCut && passes < PASSES_MAX; passes += 1)
    found = await leaseOneOf(runtime, wish, now, offset);
  return found;
}

interface OneOf extends Oldest {
  /** Whether further runs may stand behind those that a start key has kept. */
  readonly isCut: boolean;
}

async function leaseOneOf(runtime: Runtime, wish: LeaseWish, now: number, offset: number): Promise<OneOf> {
  const lists = await Promise.all([...wish.handlerIds].map((id) => candidatesOf(runtime, wish, id)));
  const complete = new Set(lists.filter(({ isComplete }) => isComplete).map(({ handlerId }) => handlerId));
  const heldBack = new Map(lists.map((list) => [list.handlerId, list.heldBack]));
  const candidates = lists.flatMap(({ runs }) => runs).sort((a, b) => (a.id < b.id ? -1 : 1));
  const busy = new Set<string>();
  const start = candidates.length === 0 ? 0 : offset % candidates.length;
  for (const candidate of [...candidates.slice(start), ...candidates.slice(0, start)]) {
    const key = concurrencyKeyOf(runtime.registry, candidate);
    if (key !== null && busy.has(key)) continue;
    const run = await leaseRunById(runtime, candidate.id, wish, now);
    if (run !== null) return { run, candidates, complete, heldBack, isCut: false };
    if (key !== null) busy.add(key);
  }
  const isCut = lists.some(({ handlerId, runs }) => !complete.has(handlerId) && runs.some(hasStartKey));
  return { run: null, candidates: [], complete, heldBack, isCut };
}

function hasStartKey({ startKey }: Run): boolean {
  return startKey !== undefined;
}

async function candidatesOf(runtime: Runtime, wish: LeaseWish, handlerId: string) {
  let unwanted = 0;
  const owners = new Set<RunOwner>();
  const isWanted = (run: Run) => {
    const wanted = isFor(runtime, run, wish);
    if (!wanted) unwanted += 1;
    if (!wanted && wish.share !== undefined) owners.add(slotOwner(run));
    return wanted;
  };
  const { runs, isWhole } = await runtime.queuedRuns.search(handlerId, CANDIDATES, isWanted);
  // A long queue of owners that were held back is seen part by part, each time that a search asks for their runs again.
  const isDone = unwanted === 0 || (wish.share !== undefined && (isWhole || runs.length === 0));
  const isComplete = runs.length < CANDIDATES && isDone;
  return { handlerId, runs, heldBack: { owners, isWhole }, isComplete };
}
