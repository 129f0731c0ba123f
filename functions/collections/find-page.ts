import { ServiceError } from '../kernel/errors.ts';
import type { RecordData, RecordKey } from '../store/port.ts';
import { candidatesOf, inRange, type RecordReader } from './candidates.ts';
import { isAdmitted, isMet } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import type { AttemptBytes } from './read-call.ts';
import { FirstItems } from './rules/first-items.ts';
import { compareSortKeys, type SortKey, sortKey } from './rules/order.ts';
import { recordJson, recordValue, type StoredText } from './rules/stored-text.ts';
import { storedText } from './stored-content.ts';

/** Sort keys of a sorted answer, in characters; a query that needs more is refused. */
const SORT_CHARACTERS_MAX = 32 * 1024 * 1024;
/** Texts that a sorted answer keeps while it reads; others are read again. */
const KEPT_CHARACTERS_MAX = 4 * 1024 * 1024;
const READ_AGAIN = 50;
/** Memory of a sorted record beside its texts, about. */
const SORTABLE_BYTES = 256;

export interface PageMost {
  readonly records: number;
  /** The most bytes of their JSON; the first record of a page may exceed it. */
  readonly bytes: number;
}

export interface FoundPage {
  /** The JSON texts of the records. */
  readonly records: readonly string[];
  /** `null` if no record is left. */
  readonly nextOffset: number | null;
  /** The order key of the last record, if the answer has the order of the listing. */
  readonly lastKey: string | null;
  /** Whether the bound on bytes ended the page, not that on records. */
  readonly cutByBytes: boolean;
}

/**
 * Finds the page of a query. `after` is the order key of the last record before the page, where it is known. Throws
 * `query_budget_exceeded`.
 */
export function findPage(
  reader: RecordReader,
  query: RecordQuery,
  most: PageMost,
  after: string | null,
): Promise<FoundPage> {
  const { driver, order } = query;
  if (order.length > 0 || driver.by === 'range') return findSorted(reader, query, most);
  return findListed(reader, { ...query, driver }, most, after);
}

type ListedQuery = RecordQuery & { readonly driver: Parameters<typeof candidatesOf>[1] };

async function findListed(
  reader: RecordReader,
  query: ListedQuery,
  most: PageMost,
  after: string | null,
): Promise<FoundPage> {
  const { offset } = query.page;
  const page = new Page(most, offset, reader.bytes);
  let skip = after === null ? offset : 0;
  let lastKey: string | null = null;
  for await (const data of candidatesOf(reader, query.driver, after, skip + most.records + 1)) {
    const stored = storedText(data);
    if (!(await isAdmitted(reader, stored, query))) continue;
    if (skip > 0) {
      skip -= 1;
      continue;
    }
    if (!page.add(stored)) return page.end(true, lastKey);
    lastKey = data.listing?.id ?? null;
    if (reader.turns.due()) await reader.turns.next();
  }
  return page.end(false, lastKey);
}

/** Collects records up to the bounds of a page. */
class Page {
  readonly #most: PageMost;
  readonly #offset: number;
  readonly #held: AttemptBytes;
  readonly #records: string[] = [];
  #bytes = 0;
  #cutByBytes = false;

  constructor(most: PageMost, offset: number, held: AttemptBytes) {
    this.#most = most;
    this.#offset = offset;
    this.#held = held;
  }

  /** `false`: the page has no room for the record. */
  add(stored: StoredText): boolean {
    if (this.#records.length >= this.#most.records) return false;
    const json = recordJson(stored);
    const bytes = Buffer.byteLength(json) + 1;
    if (this.#records.length > 0 && this.#bytes + bytes > this.#most.bytes) {
      this.#cutByBytes = true;
      return false;
    }
    this.#held.add(bytes);
    this.#records.push(json);
    this.#bytes += bytes;
    return true;
  }

  end(more: boolean, lastKey: string | null): FoundPage {
    return {
      records: this.#records,
      nextOffset: more ? this.#offset + this.#records.length : null,
      lastKey,
      cutByBytes: this.#cutByBytes,
    };
  }
}

/** A record that may be on the page of a sorted answer. */
interface Sortable {
  readonly sort: SortKey;
  readonly key: RecordKey;
  readonly stored: StoredText | null;
  readonly characters: number;
}

/** For any other order: reads all candidates, and keeps the records up to the end of the page. */
async function findSorted(reader: RecordReader, query: RecordQuery, most: PageMost): Promise<FoundPage> {
  const { offset } = query.page;
  const end = offset + most.records;
  const first = await firstOf(reader, query, end + 1);
  const more = first.kept > end;
  const sorted = await takeFrom(first, offset, reader);
  const page = new Page(most, offset, reader.bytes);
  for (let at = 0; at < Math.min(most.records, sorted.length); at += READ_AGAIN) {
    const some = sorted.slice(at, Math.min(most.records, at + READ_AGAIN));
    for (const stored of await textsOf(reader, some)) if (!page.add(stored)) return page.end(true, null);
    if (reader.turns.due()) await reader.turns.next();
  }
  return page.end(more, null);
}

/** The items from `offset` on, in order. Sorts in parts: one sort of all items would block the process for seconds. */
async function takeFrom(
  first: FirstItems<Sortable>,
  offset: number,
  { turns }: RecordReader,
): Promise<Sortable[]> {
  const taken: Sortable[] = [];
  while (first.kept > offset) {
    const last = first.takeLast();
    if (last !== undefined) taken.push(last);
    if (turns.due()) await turns.next();
  }
  return taken.reverse();
}

async function firstOf(
  reader: RecordReader,
  query: RecordQuery,
  countMax: number,
): Promise<FirstItems<Sortable>> {
  const { driver, order, condition, readsVectors } = query;
  const first = new FirstItems<Sortable>(countMax, (a, b) => compareSortKeys(a.sort, b.sort, order));
  const found =
    driver.by === 'range' ? inRange(reader, driver) : candidatesOf(reader, driver, null, countMax);
  const held = { sort: 0, texts: 0 };
  for await (const data of found) {
    const stored = storedText(data);
    const value = recordValue(stored, { vectors: readsVectors });
    if (!(await isMet(reader, value, condition))) continue;
    const sort = sortKey(value, order);
    const isKept = held.texts + stored.text.length <= KEPT_CHARACTERS_MAX;
    const characters = sort.values.reduce<number>(
      (sum, each) => sum + (typeof each === 'string' ? each.length : 0),
      0,
    );
    const item = { sort, key: data.key, stored: isKept ? stored : null, characters };
    const gone = first.offer(item);
    reader.bytes.add(bytesOf(item));
    if (gone !== undefined) reader.bytes.drop(bytesOf(gone));
    held.sort += characters - (gone?.characters ?? 0);
    held.texts += (isKept ? stored.text.length : 0) - (gone?.stored?.text.length ?? 0);
    if (held.sort > SORT_CHARACTERS_MAX) throw sortTooLarge();
    if (reader.turns.due()) await reader.turns.next();
  }
  return first;
}

function bytesOf({ characters, stored }: Sortable): number {
  return SORTABLE_BYTES + characters + (stored?.text.length ?? 0);
}

function sortTooLarge(): ServiceError {
  const detail =
    'The values that the answer is ordered by are too long to be sorted together: ask for a smaller limit.';
  return new ServiceError('query_budget_exceeded', detail);
}

/** Reads the records again, in their order. The moment is the same, so all of them still exist. */
async function textsOf({ moment }: RecordReader, items: readonly Sortable[]): Promise<StoredText[]> {
  const missing = items.filter(({ stored }) => stored === null);
  const keys = missing.map(({ key }) => ({ key, view: 'body' }) as const);
  const read: readonly RecordData[] =
    keys.length === 0 ? [] : (await moment.query({ by: 'keys', keys })).records;
  const found = new Map(read.map((record) => [record.key.id, record]));
  return items.flatMap(({ key, stored }) => {
    if (stored !== null) return [stored];
    const record = found.get(key.id);
    return record === undefined ? [] : [storedText(record)];
  });
}
