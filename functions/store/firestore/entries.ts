import { hash } from 'node:crypto';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { Listing, ListSelection, RecordKey } from '../port.ts';

/**
 * Serves lists from single-field indexes alone, for any index names that the caller projects: the field path encodes
 * the question, and the value encodes the order. `status = open` ordered by `version` within the group `policy` is the
 * range of one path, `order.{hash of policy, version, status, open}`, whose values are `{version}\0{id}`.
 */
interface Question {
  /** Absent: all groups; the group is then the first word of the tie. */
  readonly group?: string;
  readonly orderBy?: string;
  readonly equal?: readonly [name: string, value: string];
  readonly includeHidden?: boolean;
}

/** Firestore truncates indexed values after this many bytes, and then answers queries on them wrongly. */
const indexedBytesMax = 1500;

/**
 * A token may be short, because every record that it finds is compared with the selection. The letter keeps the path
 * an ordinary identifier.
 * @testonly
 */
export function token({ group, orderBy, equal, includeHidden = false }: Question): string {
  const words = [group ?? null, orderBy ?? null, equal ?? null, includeHidden];
  return `k${hash('sha256', JSON.stringify(words), 'hex').slice(0, 12)}`;
}

/** For k indexes: 2 + k entries over all groups (grouped: none), and 2 + k (paired: 2 + k²) within the group. */
export function orderEntries(listing: Listing, paired: boolean, grouped = false): Record<string, string> {
  const { group, id, hidden } = listing;
  const entries: Record<string, string> = {};
  const typed = id;
  const untyped = `${group}\0${id}`;
  entries[token({ group, includeHidden: true })] = typed;
  if (!grouped) entries[token({ includeHidden: true })] = untyped;
  if (hidden) return entries;
  entries[token({ group })] = typed;
  if (!grouped) entries[token({})] = untyped;
  const indexes = Object.entries(listing.indexes);
  for (const [orderBy, value] of indexes) {
    entries[token({ group, orderBy })] = sortKey(value, typed);
    if (!grouped) entries[token({ orderBy })] = sortKey(value, untyped);
    if (!paired) continue;
    for (const equal of indexes) {
      if (equal[0] !== orderBy) entries[token({ group, orderBy, equal })] = sortKey(value, typed);
    }
  }
  return entries;
}

/**
 * U+0000 is in neither value nor tie, and sorts before every other byte: `a` always sorts before `ab`. Only a value of 900
 * bytes with a group and an id of 400 each is too long; its ties then follow the cut.
 */
export function sortKey(value: string, tie: string): string {
  const key = `${value}\0${tie}`;
  if (Buffer.byteLength(key) <= indexedBytesMax) return key;
  const bytes = Buffer.from(key).subarray(0, indexedBytesMax);
  // A character cut in half decodes to U+FFFD, which the longest prefix of whole characters does not have.
  return bytes.toString().replace(/\uFFFD+$/u, '');
}

/** Times are padded so that text order is time order; the listing id comes next, the record id makes it unique. */
export function dueEntry(due: number, listingId: string, key: RecordKey): string {
  return `${paddedTime(due)}\0${listingId}\0${key.id}`;
}

/** Every record due at `now` sorts below it. */
export function dueBound(now: number): string {
  return `${paddedTime(now)}\u0001`;
}

export function dueTime(entry: string): number {
  const time = entry.slice(0, entry.indexOf('\0'));
  return time.startsWith('-') ? Number(time.slice(1)) - Number.MAX_SAFE_INTEGER : Number(time);
}

function paddedTime(milliseconds: number): string {
  if (!Number.isSafeInteger(milliseconds))
    throw new TypeError('due is a whole number of milliseconds since 1970');
  // A hyphen sorts before all digits, and later moments before 1970 behind earlier ones.
  const isBefore = milliseconds < 0;
  const digits = String(isBefore ? milliseconds + Number.MAX_SAFE_INTEGER : milliseconds).padStart(16, '0');
  return isBefore ? `-${digits}` : digits;
}

/** One way to walk a list in its order; the bounds are half open. */
export interface EntryWalk {
  readonly token: string;
  readonly from?: string;
  readonly below?: string;
  /** Whether every record that it finds matches. */
  readonly exact: boolean;
}

/** All drivers of a selection give the same order; they differ in how many records they find in vain. */
export function driversOf(selection: ListSelection, paired: boolean): readonly [EntryWalk, ...EntryWalk[]] {
  const { group, orderBy, range } = selection;
  const typed = group === undefined ? {} : { group };
  const equalities = Object.entries(selection.equal ?? {});
  if (orderBy === undefined) {
    const [first, ...more] = equalities.map(([name, value]) => ({
      token: token({ ...typed, orderBy: name }),
      ...between(value, value),
      exact: equalities.length === 1 && range === undefined,
    }));
    if (first !== undefined) return [first, ...more];
    // Hidden records have no indexes, so a range omits them as well.
    const includeHidden = selection.includeHidden === true && range === undefined;
    return [{ token: token({ ...typed, includeHidden }), exact: range === undefined }];
  }
  const fixed = equalities.find(([name]) => name === orderBy)?.[1];
  const bounds =
    fixed !== undefined
      ? between(fixed, fixed)
      : range?.index === orderBy
        ? between(range.from, range.to)
        : {};
  const ranged = range !== undefined && (range.index !== orderBy || fixed !== undefined);
  const others = equalities.filter(([name]) => name !== orderBy);
  const [first, ...more] = group !== undefined && paired ? others : [];
  const driver = (equal: readonly [string, string]): EntryWalk => ({
    token: token({ ...typed, orderBy, equal }),
    ...bounds,
    exact: others.length === 1 && !ranged,
  });
  if (first !== undefined) return [driver(first), ...more.map(driver)];
  return [{ token: token({ ...typed, orderBy }), ...bounds, exact: others.length === 0 && !ranged }];
}

function between(from: string | undefined, to: string | undefined): { from?: string; below?: string } {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { below: `${to}\u0001` }) };
}

/** The reference rule for a selection, without indexes. */
export function matches(listing: Listing | null | undefined, selection: ListSelection): boolean {
  if (listing === null || listing === undefined) return false;
  const { group, equal = {}, range, orderBy, includeHidden = false } = selection;
  if (group !== undefined && listing.group !== group) return false;
  const indexes = listing.hidden ? {} : listing.indexes;
  if (listing.hidden && !includeHidden) return false;
  if (orderBy !== undefined && !Object.hasOwn(indexes, orderBy)) return false;
  for (const [name, value] of Object.entries(equal)) {
    if (!Object.hasOwn(indexes, name) || indexes[name] !== value) return false;
  }
  if (range === undefined) return true;
  const value = Object.hasOwn(indexes, range.index) ? indexes[range.index] : undefined;
  if (value === undefined) return false;
  if (range.from !== undefined && compareUtf8(value, range.from) < 0) return false;
  return range.to === undefined || compareUtf8(value, range.to) <= 0;
}
