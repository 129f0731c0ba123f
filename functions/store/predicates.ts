import type { ListSelection } from './port.ts';

/** A condition on one index of a list, with inclusive bounds; an equality has the same value at both. */
export interface Predicate {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/**
 * One predicate per index, for the providers that evaluate lists in SQL. `undefined` when nothing can match: the range
 * excludes the values of an equality on the same index, or an equality contains U+0000, which no indexed text has and
 * PostgreSQL refuses.
 */
export function mergePredicates({ equal = {}, range }: ListSelection): Predicate[] | undefined {
  if (Object.values(equal).some((value) => value.includes('\0'))) return undefined;
  const predicates: Predicate[] = Object.entries(equal).map(([name, value]) => ({
    name,
    from: value,
    to: value,
  }));
  if (range === undefined) return predicates;
  const { index: name, from, to } = range;
  if (!Object.hasOwn(equal, name)) return [...predicates, { name, from, to }];
  const value = Buffer.from(equal[name] ?? '');
  if (from !== undefined && Buffer.compare(value, Buffer.from(from)) < 0) return undefined;
  if (to !== undefined && Buffer.compare(value, Buffer.from(to)) > 0) return undefined;
  return predicates;
}

export function isEquality({ from, to }: Predicate): boolean {
  return from !== undefined && from === to;
}

/** A statement under construction; its question marks take the values in order. */
export interface SqlText {
  add(text: string, ...values: string[]): unknown;
}

/** The condition that `column` lies within the predicate's bounds, without a bound that a cursor already implies. */
export function addBounds(
  sql: SqlText,
  column: string,
  { from, to }: Predicate,
  covered?: 'from' | 'to',
): void {
  if (from !== undefined && from === to) {
    sql.add(`AND ${column} = ?`, from);
    return;
  }
  if (from !== undefined && covered !== 'from') sql.add(`AND ${column} >= ?`, from);
  if (to !== undefined && covered !== 'to') sql.add(`AND ${column} <= ?`, to);
}
