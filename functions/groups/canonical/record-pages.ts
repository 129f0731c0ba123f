import { walkPages } from '../../store/pages.ts';
import type { ListSelection, RecordData, RecordPage, RecordStore, Scope } from '../../store/port.ts';

/**
 * How much one call may read for a full page: how often, how many records at a time, and how many characters of content
 * it may gather. A page may then be short and still have a continuation.
 */
const ROUNDS_MAX = 50;
const ROUND_RECORDS_MAX = 100;
const PAGE_CHARACTERS_MAX = 8 * 1024 * 1024;

export interface Gathered<T> {
  readonly items: readonly T[];
  /** The position after which the next page starts, `null` after the last one. */
  readonly next: string | null;
}

/**
 * Reads a list until it has `limit` items. `show` answers `null` for a record that the list leaves out. Each round reads
 * only as many records as the page still lacks, so that the next page begins after the last one read.
 */
export async function gather<T>(
  store: RecordStore,
  scope: Scope,
  selection: Omit<ListSelection, 'after'>,
  after: string | null,
  show: (record: RecordData) => T | null,
): Promise<Gathered<T>> {
  const items: T[] = [];
  let next = after;
  let characters = 0;
  let rounds = 0;
  const pages = walkPages(
    (from) => {
      const limit = Math.min(selection.limit - items.length, ROUND_RECORDS_MAX);
      return readWithin(store, scope, { ...selection, limit, ...from }, PAGE_CHARACTERS_MAX - characters);
    },
    { from: after },
  );
  for await (const page of pages) {
    for (const record of page.records) {
      const item = show(record);
      if (item === null) continue;
      items.push(item);
      characters += sizeOf(record);
    }
    next = page.next;
    rounds += 1;
    const full = items.length === selection.limit || characters >= PAGE_CHARACTERS_MAX;
    if (full || rounds === ROUNDS_MAX) break;
  }
  return { items, next };
}

/**
 * One page of the store, shortened where its records pass the bound: read again with fewer, because only the end of a page
 * is a position to continue from. One record always fits.
 */
async function readWithin(
  store: RecordStore,
  scope: Scope,
  selection: ListSelection,
  charactersLeft: number,
): Promise<RecordPage> {
  const page = await store.query(scope, selection);
  let left = charactersLeft;
  const fitting = page.records.findIndex((record) => (left -= sizeOf(record)) <= 0) + 1;
  if (fitting === 0 || fitting === page.records.length) return page;
  return store.query(scope, { ...selection, limit: fitting });
}

function sizeOf({ body }: RecordData): number {
  return body?.length ?? 0;
}
