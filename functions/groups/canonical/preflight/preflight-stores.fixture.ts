import type { Moment, RecordData, RecordStore, ScanPage, Scope } from '../../../store/port.ts';

/** One call on a store, opening it included. */
interface PortCall {
  /** Counted from 0. */
  readonly number: number;
  readonly verb: 'open' | 'transact' | 'query' | 'scan' | 'swap';
  readonly scope: Scope | null;
}

/** Does the call, or something else in its place. */
export type Around = <T>(call: PortCall, perform: () => Promise<T>) => Promise<T>;

/** The way to `store` on which every call passes `around`. */
export function surrounded(store: RecordStore, around: Around): () => Promise<RecordStore> {
  let calls = 0;
  const pass = <T>(verb: PortCall['verb'], scope: Scope | null, perform: () => Promise<T>): Promise<T> =>
    around({ number: calls++, verb, scope }, perform);
  const query = (scope: Scope, selection: never) => pass('query', scope, () => store.query(scope, selection));
  const outside: RecordStore = {
    provider: store.provider,
    transact: (scope, request, decide) =>
      pass('transact', scope, () => store.transact(scope, request, decide)),
    query: query as RecordStore['query'],
    snapshot: (scope, read) =>
      store.snapshot(scope, (moment) => {
        const inside = (selection: never) => pass('query', scope, () => moment.query(selection));
        return read({
          query: inside as Moment['query'],
          find: moment.find,
          count: moment.count,
          generation: () => moment.generation(),
        });
      }),
    claim: (...given) => store.claim(...given),
    due: (...given) => store.due(...given),
    async *scan(scope, request) {
      yield* await pass('scan', scope, () => pagesOf(store.scan(scope, request)));
    },
    swap: (scope, records, verify) => pass('swap', scope, () => store.swap(scope, records, verify)),
    sweep: (scope) => store.sweep(scope),
    ping: () => store.ping(),
    close: () => store.close(),
  };
  return () => pass('open', null, () => Promise.resolve(outside));
}

/** `store` with some of its verbs replaced. */
export function changed(store: RecordStore, changes: Partial<RecordStore>): RecordStore {
  const query = (scope: Scope, selection: never) => store.query(scope, selection);
  return {
    provider: store.provider,
    transact: (...given) => store.transact(...given),
    query: query as RecordStore['query'],
    snapshot: (...given) => store.snapshot(...given),
    claim: (...given) => store.claim(...given),
    due: (...given) => store.due(...given),
    scan: (...given) => store.scan(...given),
    swap: (...given) => store.swap(...given),
    sweep: (scope) => store.sweep(scope),
    ping: () => store.ping(),
    close: () => store.close(),
    ...changes,
  };
}

async function pagesOf(pages: AsyncIterable<ScanPage>): Promise<ScanPage[]> {
  const all: ScanPage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

export async function recordsOf(records: AsyncIterable<RecordData>): Promise<RecordData[]> {
  const all: RecordData[] = [];
  for await (const record of records) all.push(record);
  return all;
}

export async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}
