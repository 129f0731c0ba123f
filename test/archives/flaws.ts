import {
  changed,
  eachOf,
  recordsOf,
} from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import { COMMITS, DOCUMENTS, EVENTS, FENCES, tenantScope } from '../../functions/groups/canonical/records.ts';
import type {
  LoadedRecords,
  Moment,
  RecordData,
  RecordStore,
  ScanPage,
  Write,
} from '../../functions/store/port.ts';
import type { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';

/** Stores with a faulty restore, to prove that the judge of the answers finds the fault. */

export interface Flaw {
  readonly name: string;
  /** Whether readers and writers find the fault, or only an export of the tenant. */
  readonly seenBy: 'clients' | 'copies';
  /** The store that it replaces; each instance has one. */
  readonly spoil: (store: RecordStore, shared: Shared) => RecordStore;
}

/** The state that the instances of one run share. */
export interface Shared {
  readonly tenantId: string;
  readonly database: MemoryDatabase;
  /** The tenant before the last restore, kept by flaws that return to it. */
  readonly old: MemoryDatabase;
  /** The number of calls that still get a wrong answer. */
  left: number;
}

export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

function contentOf({ database, tenantId }: Shared): RecordData[] {
  return database.all(tenantScope(tenantId)).map(({ record }) => record);
}

/** A store whose restore ends otherwise: what `become` is given replaces the tenant in its own ways. */
function swapping(
  name: string,
  become: (records: RecordData[], shared: Shared, replace: (records: RecordData[]) => void) => Promise<void>,
): Flaw {
  return {
    name,
    seenBy: 'clients',
    spoil: (store, shared) =>
      changed(store, {
        swap: async (scope, records, verify) => {
          const loaded = await recordsOf(records);
          await verify();
          await become(loaded, shared, (content) => shared.database.replace(scope, content));
        },
      }),
  };
}

/** The store's own swap, of other records than those that it was given. */
function swappingOthers(
  name: string,
  others: (loaded: RecordData[], old: RecordData[]) => RecordData[],
): Flaw {
  return {
    name,
    seenBy: 'copies',
    spoil: (store, shared) =>
      changed(store, {
        swap: async (scope, records, verify) => {
          const loaded = await recordsOf(records);
          await store.swap(scope, eachOf(others(loaded, contentOf(shared))), verify);
        },
      }),
  };
}

const keyed = ({ key }: RecordData) => `${key.collection}/${key.id}`;
const isOf = (collection: { readonly name: string }) => (record: RecordData) =>
  record.key.collection === collection.name;

/** Merges two lists; where both hold a key, the entry of the second wins. */
function merged(records: readonly RecordData[], first: readonly RecordData[]): RecordData[] {
  return [...new Map([...records, ...first].map((record) => [keyed(record), record])).values()];
}

const swaps: readonly Flaw[] = [
  swapping('replaces in two steps', async (loaded, shared, replace) => {
    replace(merged(contentOf(shared), loaded.filter(isOf(DOCUMENTS)).slice(0, 9)));
    await turns(3);
    replace(loaded);
  }),
  swapping('clears before it fills', async (loaded, _, replace) => {
    replace([]);
    await turns(2);
    replace(loaded);
  }),
  swapping('shows the old tenant again for a while', async (loaded, shared, replace) => {
    const old = contentOf(shared);
    replace(loaded);
    await turns(30);
    replace(old);
    await turns(2);
    replace(loaded);
  }),
  swapping('brings back what was committed while it loaded', async (loaded, shared, replace) => {
    const before = new Set(contentOf(shared));
    await turns(30);
    replace(
      merged(
        loaded,
        contentOf(shared).filter((record) => !before.has(record as never)),
      ),
    );
  }),
  swapping('undoes what was committed right behind it', async (loaded, _, replace) => {
    replace(loaded);
    await turns(40);
    replace(loaded);
  }),
  swapping('is done after it was answered', async (loaded, _, replace) => {
    void turns(60).then(() => replace(loaded));
  }),
  swappingOthers('keeps what the archive does not name', (loaded, old) => merged(old, loaded)),
  swappingOthers('keeps the fences', (loaded, old) => [
    ...loaded.filter((each) => !isOf(FENCES)(each)),
    ...old.filter(isOf(FENCES)),
  ]),
  swappingOthers('keeps the events', (loaded, old) => merged(loaded, old.filter(isOf(EVENTS)))),
  swappingOthers('keeps the receipts', (loaded, old) => merged(loaded, old.filter(isOf(COMMITS)))),
  swappingOthers('loses fences', (loaded) => loaded.filter((each) => !isOf(FENCES)(each))),
  swappingOthers('loses an event', (loaded) => {
    const lost = loaded.find(isOf(EVENTS));
    return loaded.filter((each) => each !== lost);
  }),
];

const others: readonly Flaw[] = [
  {
    name: 'lists from before the restore for a while',
    seenBy: 'clients',
    spoil: (store, shared) =>
      changed(store, {
        swap: async (scope, records, verify) => {
          shared.old.replace(scope, contentOf(shared));
          await store.swap(scope, records, verify);
          shared.left = 6;
        },
        snapshot: (scope, read) =>
          store.snapshot(scope, (moment) => {
            const query = async (selection: { readonly by: string }): Promise<unknown> => {
              const isOld = selection.by === 'list' && shared.left-- > 0;
              if (!isOld) return moment.query(selection as never);
              return new MemoryStore(shared.old).query(scope, selection as never);
            };
            return read({
              query: query as Moment['query'],
              find: moment.find,
              count: moment.count,
              generation: () => moment.generation(),
            });
          }),
      }),
  },
  {
    name: 'acknowledges commits of the time of the restore without making them',
    seenBy: 'clients',
    spoil: (store, shared) =>
      changed(store, {
        swap: async (...given) => {
          await store.swap(...given);
          shared.left = 4;
        },
        transact: (scope, request, decide) =>
          store.transact(scope, request, (found) => {
            const decision = decide(found);
            return decision.writes.length > 2 && shared.left-- > 0 ? { ...decision, writes: [] } : decision;
          }),
      }),
  },
  {
    name: 'writes one half of a commit before the restore and one half behind it',
    seenBy: 'clients',
    spoil: (store, shared) =>
      changed(store, {
        swap: async (...given) => {
          shared.left = 1;
          await store.swap(...given);
        },
        transact: async (scope, request, decide) => {
          let rest: Write[] = [];
          const result = await store.transact(scope, request, (found: LoadedRecords) => {
            const decision = decide(found);
            if (decision.writes.length < 3 || shared.left-- <= 0) return decision;
            rest = decision.writes.slice(2);
            return { ...decision, writes: decision.writes.slice(0, 2) };
          });
          if (rest.length > 0) await turns(80).then(() => shared.database.apply(scope, rest));
          return result;
        },
      }),
  },
  {
    name: 'scans page by page, each of its own moment',
    seenBy: 'copies',
    spoil: (store) =>
      changed(store, {
        async *scan(scope, request): AsyncGenerator<ScanPage, void, undefined> {
          for (let after = ''; ; ) {
            const all: RecordData[] = [];
            for await (const page of store.scan(scope, request)) all.push(...page.records);
            const records = all.filter((record) => keyed(record) > after).slice(0, 8);
            const last = records.at(-1);
            if (last === undefined) return;
            yield { records, resume: null };
            after = keyed(last);
          }
        },
      }),
  },
];

export const flaws: readonly Flaw[] = [...swaps, ...others];
