import { randomBytes } from 'node:crypto';
import {
  type Collection,
  type Decision,
  type KeyRequest,
  type ListSelection,
  type LoadedRecords,
  type Part,
  type PartsSelection,
  type RecordData,
  type RecordKey,
  type RecordStore,
  type RecordView,
  type ScanRequest,
  type Scope,
  StoreError,
  type TransactRequest,
  type Write,
} from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';

export const documents: Collection = { name: 'documents', pairedIndexes: true };
export const events: Collection = { name: 'outboxEvents', pairedIndexes: false };

/** As the record plane keeps records: a group is one state of one collection, and every list names one. */
export const grouped: Collection = { name: 'records', pairedIndexes: false, listedByGroup: true };

/** The collections with which a store under test opens. */
export const declared: readonly Collection[] = [
  documents,
  events,
  grouped,
  { name: 'drafts', pairedIndexes: false, listedByGroup: true },
  { name: 'runs', pairedIndexes: false },
];

export function randomScope(): Scope {
  return { kind: 'tenants', name: `tenant-${randomBytes(8).toString('hex')}` };
}

export function keyOf(name: string, collection: Collection = documents): RecordKey {
  return { collection: collection.name, id: recordId(collection.name, name) };
}

/** Every facet of a record, so that a comparison misses none. */
export function fullRecord(name: string, changes: Partial<RecordData> = {}): RecordData {
  return {
    key: keyOf(name),
    head: { revision: 1, state: 'ready', deleted: false, lease: null },
    body: JSON.stringify({ name, text: 'grüße 😀 \uFFFD' }),
    listing: { group: 'task', id: name, hidden: false, indexes: { status: 'open', rank: name } },
    due: null,
    parts: [],
    ...changes,
  };
}

/** Rivals may win every attempt that a provider makes; nothing is written then, and a caller tries again. */
export async function persist<R>(call: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      const contended = error instanceof StoreError && error.failure === 'contention';
      if (!contended || tries === 50) throw error;
    }
  }
}

export function transact<R>(
  store: RecordStore,
  scope: Scope,
  keys: readonly (RecordKey | KeyRequest)[],
  decide: (found: LoadedRecords) => Decision<R>,
  gate?: RecordKey,
): Promise<R> {
  const requests = keys.map((key) => ('key' in key ? key : { key }));
  const request: TransactRequest = gate === undefined ? { keys: requests } : { gate, keys: requests };
  return persist(() => store.transact(scope, request, decide));
}

/** Writes without looking, a bounded number of records a transaction. */
export async function write(store: RecordStore, scope: Scope, writes: readonly Write[]): Promise<void> {
  for (let start = 0; start < writes.length; start += 20) {
    const slice = writes.slice(start, start + 20);
    const keys = slice.map((each) => ('put' in each ? each.put.key : each.remove));
    await transact(store, scope, keys, () => ({ writes: slice, result: null }));
  }
}

export function put(store: RecordStore, scope: Scope, ...records: readonly RecordData[]): Promise<void> {
  return write(
    store,
    scope,
    records.map((record) => ({ put: record })),
  );
}

export async function read(
  store: RecordStore,
  scope: Scope,
  key: RecordKey,
  view: RecordView = 'parts',
): Promise<RecordData | undefined> {
  const page = await store.query(scope, { by: 'keys', keys: [{ key, view }] });
  return page.records[0];
}

/** All pages of a list; a page may be short or empty and still have a next. */
export async function listAll(
  store: RecordStore,
  scope: Scope,
  selection: Omit<ListSelection, 'by' | 'after'>,
): Promise<RecordData[]> {
  const records: RecordData[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await store.query(scope, {
      by: 'list',
      ...selection,
      ...(after === undefined ? {} : { after }),
    });
    if (page.records.length > selection.limit) throw new Error('a page holds more than its limit');
    records.push(...page.records);
    if (page.next === null) return records;
    after = page.next;
  }
}

export async function partsAll(
  store: RecordStore,
  scope: Scope,
  selection: Omit<PartsSelection, 'by' | 'after'>,
): Promise<Part[]> {
  const parts: Part[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await store.query(scope, {
      by: 'parts',
      ...selection,
      ...(after === undefined ? {} : { after }),
    });
    if (page.parts.length > selection.limit) throw new Error('a page holds more than its limit');
    parts.push(...page.parts);
    if (page.next === null) return parts;
    after = page.next;
  }
}

export async function scanAll(
  store: RecordStore,
  scope: Scope,
  collections: readonly string[],
  pageSize = 7,
): Promise<RecordData[]> {
  const records: RecordData[] = [];
  const request: ScanRequest = { collections, pageSize };
  for await (const page of store.scan(scope, request)) {
    if (page.records.length > pageSize) throw new Error('a page holds more than its size');
    records.push(...page.records);
  }
  return records;
}

/** As `parts` shows it, with absent and null made one and parts in one order. */
export function plain(record: RecordData | undefined): RecordData | undefined {
  if (record === undefined) return undefined;
  const parts = [...(record.parts ?? [])].sort((left, right) => compareBytes(placeOf(left), placeOf(right)));
  const { key, head } = record;
  return {
    key: { collection: key.collection, id: key.id },
    head: { ...head },
    body: record.body ?? null,
    listing: record.listing == null ? null : { ...record.listing, indexes: { ...record.listing.indexes } },
    due: record.due ?? null,
    parts: parts.map(({ of, order, body }) => ({ of, order, body })),
  };
}

function placeOf(part: Part): string {
  return `${part.of}/${part.order}`;
}

/** The order of the port: UTF-8 bytes. UTF-16 code units would put U+E000…U+FFFF after the surrogate pairs. */
export function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

export async function* streamOf(records: Iterable<RecordData>): AsyncGenerator<RecordData> {
  for (const record of records) yield record;
}

export function together<R>(count: number, call: (index: number) => Promise<R>): Promise<R[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)));
}
