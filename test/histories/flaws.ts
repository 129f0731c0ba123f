import type {
  ClaimDecision,
  ClaimRequest,
  Collection,
  Find,
  KeysSelection,
  ListSelection,
  LoadedRecords,
  Moment,
  PartsSelection,
  RecordData,
  RecordKey,
  RecordPage,
  RecordStore,
  Scope,
  TransactRequest,
  Write,
} from '../../functions/store/port.ts';
import type { CountsRequest } from '../../functions/store/search.ts';
import { FLAWS } from '../simulation/flaws.ts';

/** Shared by the planted bugs of all instances over one database. */
export interface Ground {
  /** Yields to other clients, as a round trip to a database does. */
  readonly pause: () => Promise<void>;
  /** Runs the given functions one at a time. */
  readonly alone: <T>(act: () => Promise<T>) => Promise<T>;
}

export function groundWith(pause: () => Promise<void>): Ground {
  let last: Promise<unknown> = Promise.resolve();
  return {
    pause,
    alone: (act) => {
      const mine = last.then(act);
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

/**
 * Bugs planted between the operations and any store. Each is one that a provider could well have: a guard left out, one
 * transaction made into two, a read from a place that lags behind.
 */
export interface StoreFlaw {
  readonly about: string;
  /** Where it shows: in documents, fences and receipts, in leases, or in answers that take several reads. */
  readonly shows: 'cells' | 'leases' | 'wide';
  readonly plant: (store: RecordStore, ground: Ground) => RecordStore;
  /** On SQLite the tables themselves refuse the writes of the bug, so that it cannot pass unseen. */
  readonly refusedBySqlite?: true;
}

/** The store with some of its verbs replaced. */
function over(store: RecordStore, verbs: Partial<RecordStore>): RecordStore {
  return {
    provider: store.provider,
    transact: (scope, request, decide) => store.transact(scope, request, decide),
    query: store.query.bind<RecordStore['query']>(store),
    snapshot: (scope, read) => store.snapshot(scope, read),
    claim: (scope, collection, request, decide) => store.claim(scope, collection, request, decide),
    due: (scope, collection, request) => store.due(scope, collection, request),
    scan: (scope, request) => store.scan(scope, request),
    swap: (scope, records, verify) => store.swap(scope, records, verify),
    sweep: (scope) => store.sweep(scope),
    ping: () => store.ping(),
    close: () => store.close(),
    ...verbs,
  };
}

const nameOf = ({ collection, id }: RecordKey) => `${collection}/${id}`;

/** Reads the records without locks, so they may be out of date at once. */
async function glance(store: RecordStore, scope: Scope, { keys }: TransactRequest): Promise<LoadedRecords> {
  const { records } = await store.query(scope, { by: 'keys', keys });
  const found = new Map(records.map((record) => [nameOf(record.key), record]));
  return { get: (key) => found.get(nameOf(key)) };
}

/** Writes a decision of another call, over any later state. */
async function overwrite(store: RecordStore, scope: Scope, writes: readonly Write[]): Promise<void> {
  const keys = writes.map((write) => ({ key: 'put' in write ? write.put.key : write.remove }));
  if (keys.length > 0) await store.transact(scope, { keys }, () => ({ writes, result: undefined }));
}

function withoutGuard(store: RecordStore, { pause }: Ground): RecordStore {
  return over(store, {
    transact: async (scope, request, decide) => {
      const { writes, result } = decide(await glance(store, scope, request));
      await pause();
      await overwrite(store, scope, writes);
      return result;
    },
  });
}

/** The receipt and the first document, and then the rest. Writers wait for each other, but readers are not kept out. */
function inTwoHalves(store: RecordStore, { pause, alone }: Ground): RecordStore {
  return over(store, {
    transact: (scope, request, decide) =>
      alone(async () => {
        let rest: readonly Write[] = [];
        const result = await store.transact(scope, request, (found) => {
          const decision = decide(found);
          rest = decision.writes.slice(2);
          return { ...decision, writes: decision.writes.slice(0, 2) };
        });
        await pause();
        await overwrite(store, scope, rest);
        return result;
      }),
  });
}

type Selection = KeysSelection | ListSelection;

/** The store with a way of its own to read records; parts are read as ever. */
function reading(
  store: RecordStore,
  read: (scope: Scope, selection: Selection) => Promise<RecordPage>,
): RecordStore {
  const query = (scope: Scope, selection: Selection | PartsSelection) =>
    selection.by === 'parts' ? store.query(scope, selection) : read(scope, selection);
  const snapshot: RecordStore['snapshot'] = (scope, work) =>
    work({
      query: ((selection: Selection) => query(scope, selection)) as Moment['query'],
      find: ((request: CountsRequest) => store.snapshot(scope, (moment) => moment.find(request))) as Find,
      count: (selection) => store.snapshot(scope, (moment) => moment.count(selection)),
      generation: () => store.snapshot(scope, (moment) => moment.generation()),
    });
  return over(store, { query: query as RecordStore['query'], snapshot });
}

/** The reads of one call are each of a moment of their own. */
function withoutSnapshots(store: RecordStore, { pause }: Ground): RecordStore {
  return reading(store, async (scope, selection) => {
    await pause();
    return store.query(scope, selection);
  });
}

/** Every other document is read from a copy that lags behind. */
function laggingReads(store: RecordStore): RecordStore {
  const copies = new Map<string, RecordPage>();
  let reads = 0;
  return reading(store, async (scope, selection) => {
    const page = await store.query(scope, selection);
    if (selection.by !== 'keys') return page;
    const name = JSON.stringify(selection);
    const copy = copies.get(name);
    if (++reads % 2 === 0 && copy !== undefined) return copy;
    copies.set(name, page);
    return page;
  });
}

/** Each record of a list is read at a moment of its own. */
function listsOfManyMoments(store: RecordStore, { pause }: Ground): RecordStore {
  return reading(store, async (scope, selection) => {
    if (selection.by !== 'list') return store.query(scope, selection);
    const records: RecordData[] = [];
    let after = selection.after ?? null;
    do {
      const from = after === null ? {} : { after };
      const page: RecordPage = await store.query(scope, { ...selection, limit: 1, ...from });
      records.push(...page.records);
      after = page.next;
      await pause();
    } while (after !== null && records.length < selection.limit);
    return { records, next: after };
  });
}

/** Decides on what it read, and writes when rivals may have written too. */
function claimsWithoutGuard(store: RecordStore, { pause }: Ground): RecordStore {
  const claim = async <R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> => {
    const made: NonNullable<ReturnType<ClaimDecision<R>>>[] = [];
    await store.claim(scope, collection, request, (record, offer) => {
      const decision = made.length < request.limit ? decide(record, offer) : null;
      if (decision !== null) made.push(decision);
      return null;
    });
    await pause();
    const puts = made.map(({ put }) => ({ put }));
    await overwrite(store, scope, puts);
    return made.flatMap(({ result }) => (result === undefined ? [] : [result]));
  };
  return over(store, { claim });
}

/** A bug of the simulation that needs nothing of the store it stands before. */
function simulated(name: string, shows: StoreFlaw['shows']): StoreFlaw {
  const flaw = FLAWS[name];
  if (flaw?.wrap === undefined) throw new Error(`there is no bug ${name} that wraps a store`);
  return { about: flaw.about, shows, plant: flaw.wrap };
}

export const STORE_FLAWS: Readonly<Record<string, StoreFlaw>> = {
  'lost-update': {
    about: 'a commit decides on what it read, and writes without asking whether it still stands',
    shows: 'cells',
    plant: withoutGuard,
    refusedBySqlite: true,
  },
  'half-commit': {
    about: 'the second document of a commit is written after the first can be seen',
    shows: 'cells',
    plant: inTwoHalves,
  },
  'lagging-reads': {
    about: 'a read answers what a later one was answered already to have passed',
    shows: 'cells',
    plant: laggingReads,
  },
  'list-of-many-moments': {
    about: 'a list shows two documents as they never stood together',
    shows: 'cells',
    plant: listsOfManyMoments,
  },
  'answer-of-many-moments': {
    about: 'an answer that takes several reads shows one half of a commit',
    shows: 'wide',
    plant: withoutSnapshots,
  },
  'replay-runs-again': simulated('forgotten-receipt', 'cells'),
  'fence-of-two': simulated('fence-taken-over', 'cells'),
  'lease-of-two': {
    about: 'one event is leased to two consumers',
    shows: 'leases',
    plant: claimsWithoutGuard,
  },
  'ack-after-loss': {
    about: 'an acknowledgement is accepted after the event was leased to another',
    shows: 'leases',
    plant: withoutGuard,
  },
  'ack-any-token': simulated('ack-any-token', 'leases'),
};
