import { checkGroup } from '../../functions/store/grouping.ts';
import type {
  CountPage,
  CountSelection,
  ListSelection,
  Part,
  PartPage,
  PartsSelection,
  RecordPage,
} from '../../functions/store/port.ts';
import { type Stored, viewOf } from './memory-database.ts';

type Place = readonly string[];

/** The page that `selection` asks for, of at most `pageMax` records. */
export function listRecords(
  stored: readonly Stored[],
  selection: ListSelection,
  pageMax: number,
): RecordPage {
  checkGroup(selection);
  const sign = selection.direction === 'descending' ? -1 : 1;
  const after = selection.after === undefined ? beginOf(selection) : (JSON.parse(selection.after) as Place);
  const rows = stored
    .filter((row) => matches(row, selection))
    .map(({ record }) => ({ record, place: placeOf(record.listing, selection.orderBy) }))
    .filter(({ place }) => after === undefined || sign * comparePlaces(place, after) > 0)
    .sort((left, right) => sign * comparePlaces(left.place, right.place));
  const page = rows.slice(0, Math.min(pageMax, selection.limit));
  const last = page.at(-1);
  return {
    records: page.map(({ record }) => viewOf(record, selection.view ?? 'body')),
    next: last === undefined || page.length === rows.length ? null : JSON.stringify(last.place),
  };
}

/** A page of at most `pageMax` records that are counted. One condition is an index, several are read, as on Firestore. */
export function countRecords(
  stored: readonly Stored[],
  { idPrefix = '', max, ...selection }: CountSelection,
  pageMax: number,
): CountPage {
  const listed = stored.filter(({ record: { listing } }) => {
    return listing !== null && listing.id.startsWith(idPrefix) && listing.id !== idPrefix;
  });
  const { records, next } = listRecords(
    listed,
    { by: 'list', view: 'head', limit: Math.max(1, max), ...selection },
    pageMax,
  );
  const isIndex = Object.keys(selection.equal ?? {}).length <= 1;
  return { count: records.length, next, reads: isIndex ? 1 : records.length };
}

function beginOf({ afterId, group }: ListSelection): Place | undefined {
  return afterId === undefined || group === undefined ? undefined : [group, afterId];
}

function matches({ record }: Stored, selection: ListSelection): boolean {
  const { listing } = record;
  const { equal = {}, range, orderBy, group } = selection;
  if (record.key.collection !== selection.collection.name || listing === null) return false;
  if (group !== undefined && listing.group !== group) return false;
  if (listing.hidden && selection.includeHidden !== true) return false;
  // A hidden record has no indexes, although its listing may name some.
  const indexes = new Map(Object.entries(listing.hidden ? {} : listing.indexes));
  if (!Object.entries(equal).every(([name, value]) => indexes.get(name) === value)) return false;
  if (orderBy !== undefined && !indexes.has(orderBy)) return false;
  if (range === undefined) return true;
  const value = indexes.get(range.index);
  if (value === undefined) return false;
  if (range.from !== undefined && compareUtf8(value, range.from) < 0) return false;
  return range.to === undefined || compareUtf8(value, range.to) <= 0;
}

function placeOf(listing: Stored['record']['listing'], orderBy: string | undefined): Place {
  const place = [listing?.group ?? '', listing?.id ?? ''];
  return orderBy === undefined ? place : [listing?.indexes[orderBy] ?? '', ...place];
}

function comparePlaces(left: Place, right: Place): number {
  for (let n = 0; n < left.length; n++) {
    const order = compareUtf8(left[n] ?? '', right[n] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

export function listParts(stored: readonly Stored[], selection: PartsSelection): PartPage {
  const { of, after, limit, direction } = selection;
  const sign = direction === 'descending' ? -1 : 1;
  const parts: Part[] = stored
    .flatMap(({ record }) => record.parts.filter((part) => part.of === of))
    .filter((part) => after === undefined || sign * compareUtf8(part.order, after) > 0)
    .sort((left, right) => sign * compareUtf8(left.order, right.order));
  const page = parts.slice(0, limit);
  return { parts: page, next: page.length === parts.length ? null : (page.at(-1)?.order ?? null) };
}

/**
 * The order of the texts as UTF-8 bytes. UTF-16 code units have the same order, but for surrogates, which stand for
 * what UTF-8 sorts last.
 */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let n = 0; n < length; n++) {
    const [l, r] = [left.charCodeAt(n), right.charCodeAt(n)];
    if (l !== r) return rank(l) - rank(r);
  }
  return left.length - right.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
