import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordStore, Scope } from '../store/port.ts';
import { mayOwn } from './maintenance/belongings.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from './records.ts';
import type { Run } from './run.ts';

/** Refused starts that are kept of each owner. Other processes may add `STARTS_MAX` each before one lists them. */
export const REFUSED_MAX = 50;

const PAGE = REFUSED_MAX + 10;

/** Refused starts of an owner after which this process lists them again: other processes write some too. */
const STARTS_MAX = 25;

/** Owners whose refused starts this process remembers. */
const OWNERS_MAX = 200;

interface Remembered {
  readonly id: string;
  /** Whether the run is one record, so that one write removes it. */
  readonly isAlone: boolean;
}

interface Owner {
  /** Oldest first. */
  readonly runs: Remembered[];
  startsLeft: number;
}

/** Releases up to 0.5.0 stored the payload of a refused run, and let the run use its key. */
function hasOneRecord(run: Run): boolean {
  return run.keyHash === null && mayOwn(run).length === 0;
}

export interface RefusedPlace {
  /** The oldest refused run of the owner, which makes room for the new one in the same transaction. */
  readonly oldestId: string | null;
  /** Whether older runs must be listed after the write. */
  readonly mustList: boolean;
}

/** The refused starts of each owner that this process knows, so that a refused start costs one write and no search. */
export class RefusedRuns {
  readonly #owners = new Map<string, Owner>();

  /** Takes a place for one more refused run. */
  place(owner: string): RefusedPlace {
    const known = this.#owners.get(owner);
    if (known === undefined || known.startsLeft === 0) return { oldestId: null, mustList: true };
    known.startsLeft -= 1;
    if (known.runs.length < REFUSED_MAX) return { oldestId: null, mustList: false };
    if (known.runs[0]?.isAlone !== true) return { oldestId: null, mustList: true };
    return { oldestId: known.runs.shift()?.id ?? null, mustList: false };
  }

  /** The refused run `id` is stored in its place. */
  stored(owner: string, id: string): void {
    const known = this.#owners.get(owner);
    if (known === undefined) this.#remember(owner, { runs: [{ id, isAlone: true }], startsLeft: 0 });
    else known.runs.push({ id, isAlone: true });
  }

  /** The next refused start of this owner lists them again. */
  forget(owner: string): void {
    this.#owners.delete(owner);
  }

  /** Reads the refused runs of the owner. Remembers the newest 50 and returns the others. */
  async list(store: RecordStore, scope: Scope, owner: string): Promise<readonly Run[]> {
    const pages = listPages(store, scope, {
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.refused]: owner },
      direction: 'descending',
      limit: PAGE,
    });
    const alone = new Set(this.#owners.get(owner)?.runs.flatMap(({ id, isAlone }) => (isAlone ? [id] : [])));
    const kept: Remembered[] = [];
    const older: Run[] = [];
    for await (const record of recordsOf(pages)) {
      const run = readRun(record);
      if (kept.length === REFUSED_MAX) older.push(run);
      else kept.push({ id: run.id, isAlone: alone.has(run.id) || hasOneRecord(run) });
    }
    this.#remember(owner, { runs: kept.reverse(), startsLeft: STARTS_MAX });
    return older;
  }

  #remember(name: string, owner: Owner): void {
    this.#owners.delete(name);
    this.#owners.set(name, owner);
    const [first] = this.#owners.keys();
    if (this.#owners.size > OWNERS_MAX && first !== undefined) this.#owners.delete(first);
  }
}
