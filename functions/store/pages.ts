import {
  type Collection,
  type DueRequest,
  type ListSelection,
  type RecordData,
  type RecordPage,
  type RecordStore,
  type Scope,
  StoreError,
} from './port.ts';

/** A list with more pages than this is broken: its `next` never ends. */
const PAGES_MAX = 100_000;

/**
 * The most bytes of items in one answer of a list that is made from such pages; texts count by their characters. One item may exceed
 * it where a cut answer has at least one.
 */
export const LIST_ANSWER_MAX = 8 * 1024 * 1024;

/** The number of first items that fit into one answer, and at least one if there are any. */
export function fittingCount<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += sizeOf(item);
    return index > 0 && size > LIST_ANSWER_MAX;
  });
  return end === -1 ? items.length : end;
}

export interface PageWalk {
  /** The `next` of the page before the first one of the walk; `null`, the default, starts at the first page. */
  readonly from?: string | null;
  /** The walk fails with `unavailable` after this many pages with a `next`. */
  readonly pagesMax?: number;
}

/**
 * Reads page after page until one has no `next` or the caller leaves the loop. Only this function follows `next`: pages
 * may be short or empty, and the walk fails when the pages of a provider do not advance.
 */
export async function* walkPages<Page extends { readonly next: string | null }>(
  read: (after: { readonly after?: string }) => Promise<Page>,
  { from = null, pagesMax = PAGES_MAX }: PageWalk = {},
): AsyncGenerator<Page, void, undefined> {
  let after = from;
  for (let pages = 1; ; pages += 1) {
    const page = await read(after === null ? {} : { after });
    yield page;
    if (page.next === null) return;
    if (page.next === after) throw new StoreError('corrupt', 'a page of a list leads to itself');
    if (pages === pagesMax) throw new StoreError('unavailable', 'a list has no end');
    after = page.next;
  }
}

export function listPages(
  store: RecordStore,
  scope: Scope,
  selection: Omit<ListSelection, 'by' | 'after'>,
  walk?: PageWalk,
): AsyncGenerator<RecordPage, void, undefined> {
  return walkPages((after) => store.query(scope, { by: 'list', ...selection, ...after }), walk);
}

export function duePages(
  store: RecordStore,
  scope: Scope,
  collection: Collection,
  request: Omit<DueRequest, 'after'>,
  walk?: PageWalk,
): AsyncGenerator<RecordPage, void, undefined> {
  return walkPages((after) => store.due(scope, collection, { ...request, ...after }), walk);
}

/** The records of pages one by one; leaving the loop reads no further page. */
export async function* recordsOf(
  pages: AsyncIterable<RecordPage>,
): AsyncGenerator<RecordData, void, undefined> {
  for await (const { records } of pages) yield* records;
}
