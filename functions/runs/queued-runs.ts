import type { RandomSource } from '../kernel/world.ts';
import { listPages } from '../store/pages.ts';
import type { RecordStore, Scope } from '../store/port.ts';
import { isActive, RUN_GROUP, RUN_INDEX, RUNS, readRun } from './records.ts';
import type { Run } from './run.ts';

/** Queued runs that one pass over a handler's queue reads at most. */
const SCANNED_MAX = 1_024;

interface Pass {
  readonly handlerId: string;
  readonly limit: number;
  readonly isWanted: (run: Run) => boolean;
  readonly after: string | null;
  readonly scannedMax: number;
}

/** Searches the queued runs of a handler. Successive searches share a cursor, so together they cover a long queue. */
export class QueuedRuns {
  readonly #store: () => Promise<RecordStore>;
  readonly #scope: Scope;
  readonly #random: RandomSource;
  /** Where the next deep search continues. Only handlers whose queue exceeds one pass have an entry. */
  readonly #cursors = new Map<string, string>();

  constructor(store: () => Promise<RecordStore>, scope: Scope, random: RandomSource) {
    this.#store = store;
    this.#scope = scope;
    this.#random = random;
  }

  /** Returns the oldest wanted runs of the handler. If one pass finds none, a second pass continues at the cursor. */
  async find(handlerId: string, limit: number, isWanted: (run: Run) => boolean = () => true): Promise<Run[]> {
    return (await this.search(handlerId, limit, isWanted)).runs;
  }

  /** As `find`, and also returns `isWhole`: whether the passes read the whole queue. */
  async search(
    handlerId: string,
    limit: number,
    isWanted: (run: Run) => boolean,
  ): Promise<{ readonly runs: Run[]; readonly isWhole: boolean }> {
    const pass = (after: string | null, scannedMax: number) =>
      this.#pass({ handlerId, limit, isWanted, after, scannedMax });
    const oldest = await pass(null, SCANNED_MAX);
    if (oldest.found.length > 0 || oldest.next === null)
      return { runs: oldest.found, isWhole: oldest.next === null };
    // A random length: with a fixed one, workers that alternate would each see the same part of the queue for ever.
    const skipped = this.#random.bytes(1)[0] ?? 0;
    const cursor = this.#cursors.get(handlerId);
    const deeper = await pass(cursor ?? oldest.next, SCANNED_MAX - skipped);
    // Keep the cursor where runs were found: one worker does not take them all.
    if (deeper.next === null) this.#cursors.delete(handlerId);
    else if (deeper.found.length === 0) this.#cursors.set(handlerId, deeper.next);
    return { runs: deeper.found, isWhole: cursor === undefined && deeper.next === null };
  }

  async #pass({ handlerId, limit, isWanted, after, scannedMax }: Pass): Promise<{
    readonly found: Run[];
    readonly next: string | null;
  }> {
    const store = await this.#store();
    const equal = { [RUN_INDEX.lane]: handlerId };
    const selection = { collection: RUNS, group: RUN_GROUP, equal, limit };
    const found: Run[] = [];
    let next: string | null = null;
    let scanned = 0;
    for await (const page of listPages(store, this.#scope, selection, { from: after })) {
      const runs = page.records.map((record) => readRun(record));
      found.push(...runs.filter((run) => isActive(run) && isWanted(run)));
      scanned += page.records.length;
      next = page.next;
      if (found.length >= limit || scanned >= scannedMax) break;
    }
    return { found: found.slice(0, limit), next };
  }
}
