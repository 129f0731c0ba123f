import type { Turns } from '../kernel/turns.ts';
import { compareUtf8 } from '../kernel/utf8-order.ts';
import { walkPages } from '../store/pages.ts';
import type { ListSelection, Moment, RecordData } from '../store/port.ts';
import type { ReadBudget } from './read-budget.ts';
import type { AttemptBytes } from './read-call.ts';
import type { QueryDriver } from './rules/driver.ts';
import type { Incarnation } from './rules/incarnation.ts';
import type { ProjectedValues } from './rules/projection.ts';
import { partitionPrefix } from './rules/record-key.ts';
import { RECORDS } from './store-collections.ts';
import { indexText } from './stored-content.ts';

const PAGE_RECORDS_MAX = 200;
/** Fifty records, and one more to know whether others follow. With the largest records they take 46 MB. */
const PAGE_RECORDS_FIRST = 51;
/** Smaller in a partition: a page may end with records of other partitions, which are read in vain. */
const PARTITION_RECORDS_FIRST = 21;
/** The characters of bodies that the pages of a call should hold at a time, about. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** How a call reads the records of one incarnation: at one moment, within a budget, in turns with other calls. */
export interface RecordReader {
  readonly moment: Moment;
  readonly incarnation: Incarnation;
  readonly budget: ReadBudget;
  readonly turns: Turns;
  readonly bytes: AttemptBytes;
  /** The most records of a page with bodies, if the store does not bound pages by bytes. */
  readonly pageMax?: number | undefined;
}

type Found = AsyncGenerator<RecordData, void, undefined>;

/** The records that a driver finds after the order key `after`, in the order of the listing. */
export function candidatesOf(
  reader: RecordReader,
  driver: Exclude<QueryDriver, { readonly by: 'range' }>,
  after: string | null,
  wanted: number,
): Found {
  switch (driver.by) {
    case 'partitions':
      return inPartitions(reader, driver.partitionKeys, after, wanted);
    case 'equal':
      return listed(reader, equalTo(reader, driver.index, driver.value), after, wanted);
    case 'in': {
      const pages = pagesOf(driver.values.length);
      return merged(
        driver.values.map((value) =>
          listed(reader, equalTo(reader, driver.index, value), after, wanted, pages),
        ),
      );
    }
    default:
      return listed(reader, {}, after, wanted);
  }
}

/** All records in the order of the listing, without their bodies. */
export function headsOf(reader: RecordReader): Found {
  return listed(reader, { view: 'head' }, null, PAGE_RECORDS_MAX);
}

/** The records of one partition with a value in an index, after the order key `after`. Records of other partitions cost at most one page. */
export async function* equalInPartition(
  reader: RecordReader,
  driver: Extract<QueryDriver, { readonly by: 'equal' }>,
  partitionKey: string,
  after: string | null,
): Found {
  const prefix = partitionPrefix(partitionKey);
  for await (const record of candidatesOf(reader, driver, after ?? prefix, PARTITION_RECORDS_FIRST)) {
    if (record.listing?.id.startsWith(prefix) !== true) return;
    yield record;
  }
}

/** The records that have all these values in their indexes, in the order of the listing. */
export function havingAll(reader: RecordReader, values: ProjectedValues): Found {
  return listed(reader, { equal: textsOf(reader.incarnation, values) }, null, PAGE_RECORDS_FIRST);
}

/** How many records of a partition, or of all for `null`, have all these values in their indexes. No more than about `max` are counted. */
export async function countHavingAll(
  { moment, incarnation, budget, turns }: RecordReader,
  values: ProjectedValues,
  { partitionKey, max }: { readonly partitionKey: string | null; readonly max: number },
): Promise<number> {
  const prefix = partitionKey === null ? {} : { idPrefix: partitionPrefix(partitionKey) };
  const selection = {
    collection: RECORDS,
    group: incarnation,
    equal: textsOf(incarnation, values),
    max,
    ...prefix,
  };
  let counted = 0;
  const pages = walkPages((after) => {
    // A page may use more reads than the call has left. Then this throws before the next page.
    budget.room();
    return moment.count({ ...selection, ...after });
  });
  for await (const { count, reads } of pages) {
    counted += count;
    budget.spend(reads, 0);
    if (counted >= max) break;
    if (turns.due()) await turns.next();
  }
  return counted;
}

function textsOf(incarnation: Incarnation, values: ProjectedValues): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).map(([index, value]) => [index, indexText(incarnation, value)]),
  );
}

/** The records whose value of an index lies in the range, in the order of these values. */
export function inRange(
  reader: RecordReader,
  { index, from, to }: { readonly index: string; readonly from: string; readonly to: string },
): Found {
  const { incarnation } = reader;
  const range = { index, from: indexText(incarnation, from), to: indexText(incarnation, to) };
  return listed(reader, { range, orderBy: index }, null, PAGE_RECORDS_MAX);
}

type Restriction = Pick<ListSelection, 'equal' | 'range' | 'orderBy' | 'view'>;

function equalTo({ incarnation }: RecordReader, index: string, value: string): Restriction {
  return { equal: { [index]: indexText(incarnation, value) } };
}

/** The memory of the pages of all lists of one call. The lists read one after the other. */
interface HeldPages {
  readonly lists: number;
  characters: number;
}

function pagesOf(lists: number): HeldPages {
  return { lists, characters: 0 };
}

/** Pages grow, so that a call that needs few records reads few in vain. Large bodies shorten them; no size is known before the first page. */
async function* listed(
  { moment, incarnation, budget, turns, bytes, pageMax = PAGE_RECORDS_MAX }: RecordReader,
  restriction: Restriction,
  afterId: string | null,
  wanted: number,
  held = pagesOf(1),
): Found {
  const isHead = restriction.view === 'head';
  const firstMax = isHead ? PAGE_RECORDS_MAX : PAGE_RECORDS_FIRST;
  const most = isHead ? PAGE_RECORDS_MAX : pageMax;
  let size = Math.max(1, Math.min(Math.floor(firstMax / held.lists), wanted));
  let missing = wanted;
  const begin = afterId === null ? {} : { afterId };
  const selection = { by: 'list', collection: RECORDS, group: incarnation, ...restriction } as const;
  const pages = walkPages((after) => {
    // Large bodies in one list leave no room for pages of the others.
    const fits = held.characters < PAGE_CHARACTERS ? size : 1;
    const limit = Math.min(fits, budget.room());
    return moment.query({ ...selection, ...(after.after === undefined ? begin : after), limit });
  });
  for await (const { records } of pages) {
    const characters = records.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    budget.spend(records.length, characters);
    bytes.add(characters);
    held.characters += characters;
    yield* records;
    held.characters -= characters;
    bytes.drop(characters);
    missing -= records.length;
    const fitting = Math.floor((PAGE_CHARACTERS * records.length) / held.lists / Math.max(1, characters));
    const grown = missing > 0 ? missing : Math.max(size * 2, PAGE_RECORDS_FIRST);
    size = Math.max(1, Math.min(most, grown, fitting));
    if (turns.due()) await turns.next();
  }
}

/** One partition after the other, in the order of the listing. */
async function* inPartitions(
  reader: RecordReader,
  partitionKeys: readonly string[],
  after: string | null,
  wanted: number,
): Found {
  const prefixes = [...new Set(partitionKeys.map(partitionPrefix))].sort(compareUtf8);
  for (const prefix of prefixes) {
    const isWithin = after?.startsWith(prefix) === true;
    if (after !== null && !isWithin && compareUtf8(prefix, after) < 0) continue;
    for await (const record of listed(
      reader,
      {},
      isWithin ? after : prefix,
      Math.min(wanted, PARTITION_RECORDS_FIRST),
    )) {
      if (record.listing?.id.startsWith(prefix) !== true) break;
      yield record;
    }
  }
}

/** Several lists as one, each record once. The lists have no record in common. */
async function* merged(lists: readonly Found[]): Found {
  const heads: { readonly list: Found; record: RecordData }[] = [];
  for (const list of lists) {
    const first = await list.next();
    if (first.done !== true) heads.push({ list, record: first.value });
  }
  while (heads.length > 0) {
    const least = heads.reduce((a, b) => (compareUtf8(orderOf(b.record), orderOf(a.record)) < 0 ? b : a));
    yield least.record;
    const next = await least.list.next();
    if (next.done === true) heads.splice(heads.indexOf(least), 1);
    else least.record = next.value;
  }
}

function orderOf({ listing }: RecordData): string {
  return listing?.id ?? '';
}
