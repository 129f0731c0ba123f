import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import { type RecordPath, readPath, valueAt } from './path.ts';
import { orderKey, type RecordValue } from './record-key.ts';

const TERMS_MAX = 8;

/** A term of a request's order. */
export interface OrderExpression {
  readonly path: string;
  readonly direction?: string | null;
}

export interface OrderTerm {
  readonly path: RecordPath;
  readonly descending: boolean;
}

/** Reads the order of a query; empty for the order of the listing. Throws naming the term below `pointer`. */
export function readOrder(
  expressions: readonly OrderExpression[] | null | undefined,
  pointer = '/orderBy',
): OrderTerm[] {
  const given = expressions ?? [];
  if (given.length > TERMS_MAX) {
    throw invalidMember(pointer, `must have at most ${TERMS_MAX} terms`, 'limit_exceeded');
  }
  return given.map(({ path, direction }, index) => ({
    path: readPath(path, `${pointer}/${index}/path`),
    descending: isDescending(direction, `${pointer}/${index}/direction`),
  }));
}

function isDescending(direction: string | null | undefined, pointer: string): boolean {
  const word = (direction ?? 'asc').toLowerCase();
  if (word !== 'asc' && word !== 'desc') throw invalidMember(pointer, 'must be asc or desc');
  return word === 'desc';
}

/** The sort key of a record, read once. */
export interface SortKey {
  readonly values: readonly (Json | undefined)[];
  readonly orderKey: string;
}

export function sortKey(record: RecordValue, terms: readonly OrderTerm[]): SortKey {
  return {
    values: terms.map(({ path }) => valueAt(record, path)),
    orderKey: orderKey(record),
  };
}

/**
 * Compares by each term in turn, and then by the ascending order of the listing. So no two records are equal, and the pages of an
 * answer neither overlap nor leave a gap while nothing is written.
 */
export function compareSortKeys(a: SortKey, b: SortKey, terms: readonly OrderTerm[]): number {
  for (const [index, { descending }] of terms.entries()) {
    const difference = compareValues(a.values[index], b.values[index]);
    if (difference !== 0) return descending ? -difference : difference;
  }
  return compareUtf8(a.orderKey, b.orderKey);
}

/**
 * Missing values and null first, then booleans, numbers and strings, finally arrays and objects, which are all equal.
 * @testonly
 */
export function compareValues(a: Json | undefined, b: Json | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return typeRank(a) - typeRank(b);
}

function typeRank(value: Json | undefined): number {
  if (value === undefined || value === null) return 0;
  const rank = ['boolean', 'number', 'string'].indexOf(typeof value);
  return rank < 0 ? 4 : rank + 1;
}
