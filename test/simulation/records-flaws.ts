import {
  COLLECTION_GROUP,
  IMPORT_PROGRESS,
  POLICIES,
  RECORDS,
} from '../../functions/collections/store-collections.ts';
import { RETIRED_COLLECTIONS, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import type {
  Find,
  KeysSelection,
  LoadedRecords,
  Moment,
  RecordData,
  RecordStore,
  Scope,
  Write,
} from '../../functions/store/port.ts';
import type { CountsRequest } from '../../functions/store/search.ts';
import { type ExecutionFlaw, STORE_FLAWS } from './execution-store-flaws.ts';
import { between } from './flaws.ts';
import type { Stored } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

/** A planted bug; it may also change the runs that upkeep sees. */
export interface RecordsFlaw extends Pick<ExecutionFlaw, 'about' | 'store' | 'wrap'> {
  /** Upkeep takes every run for one that is over. */
  readonly forgetsRuns?: true;
}

const as = (record: RecordData): RecordData => record;

function dropped(isDropped: (put: RecordData) => boolean) {
  return between(as, (write: Write) => ('put' in write && isDropped(write.put) ? undefined : write));
}

/** The reads of one call are made at different moments. */
function movingMoment(store: RecordStore): RecordStore {
  return {
    ...between(as)(store),
    snapshot: (scope, read) => {
      const query = (selection: KeysSelection) => store.query(scope, selection);
      const find = (request: CountsRequest) => store.snapshot(scope, (moment) => moment.find(request));
      return read({
        query: query as unknown as Moment['query'],
        find: find as Find,
        count: (selection) => store.snapshot(scope, (moment) => moment.count(selection)),
        generation: () => Promise.resolve('0'),
      });
    },
  };
}

/** A policy that is read beside records comes from a copy that is never brought up to date. */
function stalePolicies(store: RecordStore): RecordStore {
  const copies = new Map<string, RecordData>();
  return {
    ...between(as)(store),
    transact: (scope, request, decide) => {
      const shown = new Set(request.keys.filter(({ unguarded }) => unguarded).map(({ key }) => key.id));
      return store.transact(scope, request, (found) =>
        decide({
          get: (key) => {
            const record = found.get(key);
            if (record === undefined || !shown.has(key.id)) return record;
            const copy = copies.get(key.id) ?? record;
            copies.set(key.id, copy);
            return copy;
          },
        }),
      );
    },
  };
}

/** Upkeep does not see the incarnations that the names point at. */
function blindSweep(store: RecordStore): RecordStore {
  return {
    ...between(as)(store),
    transact: (scope, request, decide) => {
      const [first, ...others] = request.keys;
      const looks = request.frees === true && first?.key.collection === POLICIES.name && others.length > 0;
      if (!looks || first.unguarded) return store.transact(scope, request, decide);
      return store.transact(scope, request, (found) =>
        decide({ get: (key) => (key.collection === POLICIES.name ? undefined : found.get(key)) }),
      );
    },
  };
}

/** Loses the last record of each transaction that writes several. */
const holes = (store: RecordStore): RecordStore => ({
  ...between(as)(store),
  transact: (scope, request, decide) =>
    store.transact(scope, request, (found) => {
      const { writes, result } = decide(found);
      const puts = writes.filter((write) => 'put' in write && write.put.key.collection === RECORDS.name);
      const last = puts.at(-1);
      return { writes: puts.length < 2 ? writes : writes.filter((write) => write !== last), result };
    }),
});

function withEntryOf(write: Write, found: LoadedRecords): Write {
  if (!('put' in write) || found.get(write.put.key) === undefined) return write;
  const { search: _, ...others } = write.put;
  return { put: others };
}

class NeverSwept extends MemoryStore {
  protected override dueRecords(...[scope, ...rest]: Parameters<MemoryStore['dueRecords']>): Stored[] {
    return scope.name === UPKEEP_SCOPE.name ? [] : super.dueRecords(scope, ...rest);
  }
}

/** A flip of a name leaves the policy that was there. */
class LostFlips extends MemoryStore {
  #flips = 0;

  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    const flips = writes.some((write) => 'put' in write && write.put.listing?.group === COLLECTION_GROUP);
    const isLost = flips && ++this.#flips % 3 === 0;
    super.applyNow(
      scope,
      isLost
        ? writes.filter((write) => !('put' in write) || write.put.key.collection !== POLICIES.name)
        : writes,
    );
  }
}

function stored(name: keyof typeof STORE_FLAWS): RecordsFlaw {
  const flaw = STORE_FLAWS[name];
  if (flaw === undefined) throw new Error(`there is no bug named ${name}`);
  return flaw;
}

const isLedger = ({ key, head }: RecordData) => key.collection === IMPORT_PROGRESS.name && 'phase' in head;
const isOutcomes = ({ key, head }: RecordData) => key.collection === IMPORT_PROGRESS.name && 'at' in head;

export const RECORDS_FLAWS: Readonly<Record<string, RecordsFlaw>> = {
  'torn-writes': stored('torn-writes'),
  'lost-writes': stored('lost-writes'),
  'unguarded-reads': stored('unguarded-reads'),
  'blind-retry': stored('blind-retry'),
  'moving-moment': { about: 'the reads of one query are of several moments', wrap: movingMoment },
  'stale-policy': { about: 'a write believes an old policy', wrap: stalePolicies },
  'blind-sweep': { about: 'upkeep removes what a name points at', wrap: blindSweep },
  'forgotten-runs': { about: 'upkeep takes a run that loads for one that is over', forgetsRuns: true },
  'chunks-forgotten': {
    about: 'a chunk does not keep that it was written',
    wrap: dropped((put) => isOutcomes(put) || (isLedger(put) && Number(put.head['next']) > 0)),
  },
  'outcomes-forgotten': { about: 'the outcomes of a chunk are not kept', wrap: dropped(isOutcomes) },
  'intents-forgotten': {
    about: 'a retired collection is not announced',
    wrap: dropped(({ key }) => key.collection === RETIRED_COLLECTIONS.name),
  },
  'never-swept': { about: 'retired collections are never due', store: NeverSwept },
  'entries-forgotten': {
    about: 'a record that is written again keeps its search entry',
    wrap: (store) => ({
      ...between(as)(store),
      transact: (scope, request, decide) =>
        store.transact(scope, request, (found) => {
          const { writes, result } = decide(found);
          return { writes: writes.map((write) => withEntryOf(write, found)), result };
        }),
    }),
  },
  holes: { about: 'a transaction of several records loses one', wrap: holes },
  'lost-flips': { about: 'now and then a name is not written', store: LostFlips },
};
