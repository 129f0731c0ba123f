import { checkGeneration, type PagePosition } from '../../kernel/page-token.ts';
import { LIST_ANSWER_MAX, walkPages } from '../../store/pages.ts';
import type { ListSelection, Moment, RecordData, RecordPage, RecordStore, Scope } from '../../store/port.ts';

/**
 * Limits of the reads for one page: rounds, and records of a round. At a limit, also that of an answer, the page is short, and
 * still has a continuation.
 */
const ROUNDS_MAX = 50;
const ROUND_RECORDS_MAX = 100;

export interface Gathered<T> {
  readonly items: readonly T[];
  /** The position after which the next page starts; `null` on the last page. */
  readonly next: PagePosition | null;
}

/**
 * Reads a list as of one moment until it has `limit` items. `show` returns `null` for a record that the list leaves out. Throws
 * `continuation_token_invalid` if a restore has replaced the content of the position `from`.
 */
export function gather<T>(
  store: RecordStore,
  scope: Scope,
  selection: Omit<ListSelection, 'after'>,
  from: PagePosition | null,
  show: (record: RecordData) => T | null,
): Promise<Gathered<T>> {
  return store.snapshot(scope, async (moment) => {
    const { items, next } = await gatherAt(moment, selection, from?.after ?? null, show);
    if (next === null && (from === null || from.generation === null)) return { items, next };
    const generation = await moment.generation();
    checkGeneration(from, generation);
    return { items, next: next === null ? null : { after: next, generation } };
  });
}

/** Each round reads only the missing number of records, so that the next page begins after the last record read. */
async function gatherAt<T>(
  moment: Moment,
  selection: Omit<ListSelection, 'after'>,
  after: string | null,
  show: (record: RecordData) => T | null,
): Promise<{ readonly items: T[]; readonly next: string | null }> {
  const items: T[] = [];
  let next = after;
  let characters = 0;
  let rounds = 0;
  const pages = walkPages(
    (from) => {
      const limit = Math.min(selection.limit - items.length, ROUND_RECORDS_MAX);
      return readWithin(moment, { ...selection, limit, ...from }, LIST_ANSWER_MAX - characters);
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
    const full = items.length === selection.limit || characters >= LIST_ANSWER_MAX;
    if (full || rounds === ROUNDS_MAX) break;
  }
  return { items, next };
}

/**
 * One page of the store. If its records exceed the bound, it is read again with fewer, because only the end of a page is a position
 * to continue from. One record always fits.
 */
async function readWithin(
  moment: Moment,
  selection: ListSelection,
  charactersLeft: number,
): Promise<RecordPage> {
  const page = await moment.query(selection);
  let left = charactersLeft;
  const fitting = page.records.findIndex((record) => (left -= sizeOf(record)) <= 0) + 1;
  if (fitting === 0 || fitting === page.records.length) return page;
  return moment.query({ ...selection, limit: fitting });
}

function sizeOf({ body }: RecordData): number {
  return body?.length ?? 0;
}
