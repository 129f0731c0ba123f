import type { RunMessage } from '../../functions/queue/port.ts';
import {
  type KeyRequest,
  type ListSelection,
  type RecordData,
  type RecordStore,
  type Scope,
  StoreError,
} from '../../functions/store/port.ts';
import { executionCall } from './execution-calls.ts';
import { BlindRetry, between, DoubleClaim, LostWrites, TornWrites, UnguardedReads } from './flaws.ts';
import { keyName, type Stored } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

/** A bug planted on purpose, as in `flaws.ts`. */
export interface ExecutionFlaw {
  readonly about: string;
  readonly store?: typeof MemoryStore;
  readonly wrap?: (store: RecordStore) => RecordStore;
  /** Whether the queue of a process takes the message. */
  readonly hears?: (message: RunMessage) => boolean;
  /** Places of a start key beyond its limit. */
  readonly placesMore?: number;
  /** The mark of the database never moves. */
  readonly marksNothing?: true;
}

/** Reports now and then that a write was not made although it was. */
function sulks(store: RecordStore): RecordStore {
  let writes = 0;
  return {
    ...between((record) => record)(store),
    async transact(scope, request, decide) {
      const result = await store.transact(scope, request, decide);
      writes += 1;
      if (writes % 20 === 0) throw new StoreError('contention', 'rivals won every attempt');
      return result;
    },
  };
}

/** Runs are read from a copy that is brought up to date every few reads. */
class StaleRuns extends MemoryStore {
  #reads = 0;
  readonly #copies = new Map<string, RecordData[]>();

  protected override readKeys(scope: Scope, keys: readonly KeyRequest[]): RecordData[] {
    const fresh = super.readKeys(scope, keys);
    if (executionCall()?.operation !== 'getExecutionRun') return fresh;
    const name = keys.map(({ key, view }) => `${view} ${keyName(key)}`).join();
    const copy = this.#copies.get(name);
    if (copy !== undefined && ++this.#reads % 4 !== 0) return copy;
    this.#copies.set(name, fresh);
    return fresh;
  }
}

/** The store never lists a run as due. */
class NeverDue extends MemoryStore {
  protected override dueRecords(): Stored[] {
    return [];
  }
}

/** Lists of queued runs are empty, so that a worker gets a run only by its message. */
function withoutLanes(store: RecordStore): RecordStore {
  const query = async (scope: Scope, selection: ListSelection) =>
    selection.equal?.lane === undefined ? store.query(scope, selection) : { records: [], next: null };
  return { ...between((record) => record)(store), query: query as unknown as RecordStore['query'] };
}

/** Bugs of the store, or of what stands between it and the rules. */
export const STORE_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'unguarded-reads': {
    about: 'a write does not check that what was read has not changed',
    store: UnguardedReads,
  },
  'torn-writes': { about: 'the records of one decision are written one after the other', store: TornWrites },
  'double-claim': { about: 'two instances can win the same due run', store: DoubleClaim },
  'lost-writes': { about: 'a write that was answered is gone later', store: LostWrites },
  'blind-retry': { about: 'a lost reply is answered by writing again', store: BlindRetry },
  'stale-reads': { about: 'a run is read from a copy that lags behind', store: StaleRuns },
  'never-due': { about: 'what time brings is never looked after', store: NeverDue },
  'empty-lanes': { about: 'queued runs are missing in the lists by handler', wrap: withoutLanes },
  'undone-by-word': { about: 'a successful write is answered as if it had failed', wrap: sulks },
};
