import type { ListSelection, Scope } from '../port.ts';
import { addBounds, isEquality, mergePredicates, type Predicate } from '../predicates.ts';
import { IN_SCOPE, ofScope, Sql, type Statement, type Value } from './statement.ts';

/** Where a record stands in a list; also what a cursor holds. `value` only where an index orders the list. */
export interface Place {
  readonly value: string | null;
  readonly listing_group: string;
  readonly listing_id: string;
}

export interface PlaceRow extends Place {
  readonly id: string;
  readonly body_bytes: number;
}

/** A row of a walk; what of it does not match is only walked over. */
export interface WalkRow extends PlaceRow {
  readonly matched: 0 | 1;
}

/** Index rows that one page looks at; the page is short when they are used up. */
export const walkMax = 5000;

/** A predicate with at most so many entries is read whole and sorted instead of walking the order's index. */
const fewEntries = 1000;

/** What is left of a selection once predicates on one index are merged. */
export interface Question {
  readonly scope: Scope;
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  /** Absent also where an equality fixes the value, so that group and id alone order the list. */
  readonly orderBy: string | undefined;
  readonly after: Place | undefined;
}

/** Which rows a list walks; the others are looked up for each of them. */
export type Driver = Predicate | 'listing';

export interface Choice {
  readonly driver: Driver;
  /** Its entries are counted and few; what is not has to be walked with care. */
  readonly few: boolean;
}

/** `undefined` when nothing can match. */
export function questionOf(scope: Scope, selection: ListSelection): Question | undefined {
  const { equal = {}, orderBy } = selection;
  const ordered = orderBy === undefined || Object.hasOwn(equal, orderBy) ? undefined : orderBy;
  const after = selection.after === undefined ? undefined : placeOf(selection.after, ordered !== undefined);
  const predicates = mergePredicates(selection);
  return predicates === undefined ? undefined : { scope, selection, predicates, orderBy: ordered, after };
}

/**
 * Asks how many entries each predicate has, as far as that matters. The order's own index needs no sorting, but walks in
 * vain when a predicate matches little, so one with few entries goes first. The server cannot know: the names of indexes are data.
 * `undefined` where there is nothing to choose.
 */
export function countsOf(question: Question): Statement<Record<string, number>> | undefined {
  const { predicates, orderBy } = question;
  const [only, ...others] = predicates;
  if (only === undefined) return undefined;
  if (others.length === 0 && (only.name === orderBy || (isEquality(only) && orderBy === undefined))) {
    return undefined;
  }
  const sql = new Sql().add('SELECT');
  for (const [index, predicate] of predicates.entries()) {
    if (index > 0) sql.add(',');
    sql.add('(SELECT COUNT(*) FROM (SELECT 1 FROM');
    addDriver(sql, question, predicate);
    sql.add(`LIMIT ${fewEntries + 1}) AS t${index}) AS c${index}`);
  }
  return sql;
}

/** `counts` is the answer to `countsOf`, where there was a choice. */
export function chooseDriver(
  { predicates, orderBy }: Question,
  counts: Readonly<Record<string, number>> | undefined,
): Choice {
  let fewest: Predicate | undefined;
  let least = fewEntries + 1;
  for (const [index, predicate] of predicates.entries()) {
    const entries = counts?.[`c${index}`] ?? least;
    if (entries < least) [fewest, least] = [predicate, entries];
  }
  if (fewest !== undefined) return { driver: fewest, few: true };
  if (orderBy === undefined) return { driver: predicates.find(isEquality) ?? 'listing', few: false };
  const ofOrder = predicates.find(({ name }) => name === orderBy);
  return { driver: ofOrder ?? { name: orderBy, from: undefined, to: undefined }, few: false };
}

/** The places of one page out of a few entries, in order, and one more when there is a next page. */
export function placesOf(question: Question, driver: Driver): Statement<PlaceRow> {
  const { selection, predicates, orderBy } = question;
  const sorted = orderBy !== undefined && (driver === 'listing' || driver.name !== orderBy);
  const value = orderBy === undefined ? undefined : sorted ? 'o.value' : 'd.value';
  const record = driver === 'listing' ? 'd' : 'r';
  const sql = new Sql().add(`SELECT d.id, ${value ?? 'NULL'} AS value, d.listing_group, d.listing_id,`);
  sql.add(`${record}.body_bytes FROM`);
  // Each further index of a record is one row, found by its key: joining it asks the same as EXISTS would.
  const joins = new Sql();
  if (sorted) joins.add(entryOf('o'), orderBy);
  const others = predicates.filter((each) => each !== driver);
  for (const [index, { name }] of others.entries()) joins.add(entryOf(`e${index}`), name);
  if (driver !== 'listing') joins.add(`STRAIGHT_JOIN {records} AS r ON ${sameRecord('r')}`);
  addDriver(sql, question, driver, joins);
  for (const [index, predicate] of others.entries()) addBounds(sql, `e${index}.value`, predicate);
  if (driver === 'listing' && selection.includeHidden !== true) sql.add('AND d.hidden = 0');
  addOrder(sql, question, value);
  return sql.add('LIMIT ?', selection.limit + 1);
}

/**
 * The next rows of the driver, in the order of its index, which is the order asked for. Each says whether it matches instead
 * of being left out, so that the server looks at no more rows than these.
 */
export function walkOf(question: Question, driver: Driver, rows: number): Statement<WalkRow> {
  const { selection, predicates, orderBy } = question;
  const value = orderBy === undefined ? undefined : 'd.value';
  const joins = new Sql();
  const matches: string[] = [];
  if (driver === 'listing' && selection.includeHidden !== true) matches.push('d.hidden = 0');
  const others = predicates.filter((each) => each !== driver);
  for (const [index, predicate] of others.entries()) {
    const alias = `e${index}`;
    joins.add(
      `LEFT JOIN {entries} AS ${alias} ON ${sameRecord(alias)} AND ${alias}.name = ?`,
      predicate.name,
    );
    addBounds(joins, `${alias}.value`, predicate);
    matches.push(`${alias}.id IS NOT NULL`);
  }
  const matched = matches.length === 0 ? '1' : `(${matches.join(' AND ')})`;
  const record = driver === 'listing' ? 'd' : 'r';
  if (record === 'r') joins.add(`LEFT JOIN {records} AS r ON ${sameRecord('r')} AND ${matched}`);
  const sql = new Sql().add(`SELECT d.id, ${value ?? 'NULL'} AS value, d.listing_group, d.listing_id,`);
  // Of a row that does not match it is null, and nobody asks. An expression over it would come as a text of digits.
  sql.add(`${record}.body_bytes, ${matched} AS matched FROM`);
  addDriver(sql, question, driver, joins);
  addOrder(sql, question, value);
  return sql.add('LIMIT ?', rows);
}

function sameRecord(alias: string): string {
  return `${alias}.space = d.space AND ${alias}.collection = d.collection AND ${alias}.id = d.id`;
}

function entryOf(alias: string): string {
  return `STRAIGHT_JOIN {entries} AS ${alias} ON ${sameRecord(alias)} AND ${alias}.name = ?`;
}

/** The rows of the driver as `d`, through the index whose order they are wanted in. */
function addDriver(
  sql: Sql,
  { scope, selection, orderBy }: Question,
  driver: Driver,
  joins: Sql = new Sql(),
): void {
  const { collection, group } = selection;
  const { text, values } = ofScope(scope);
  const table = driver === 'listing' ? 'records' : 'entries';
  sql.add(
    `${IN_SCOPE} {${table}} AS d FORCE INDEX (${indexOf(driver, group, orderBy)}) ON d.space = s.space`,
  );
  if (joins.text !== '') sql.add(joins.text, ...joins.values);
  sql.add(`WHERE ${text} AND d.collection = ?`, ...values, collection.name);
  if (driver === 'listing') {
    sql.add('AND d.listing_group IS NOT NULL');
  } else {
    sql.add('AND d.name = ?', driver.name);
    addBounds(sql, 'd.value', driver);
  }
  if (group !== undefined) sql.add('AND d.listing_group = ?', group);
}

function indexOf(driver: Driver, group: string | undefined, orderBy: string | undefined): string {
  if (driver === 'listing') return 'records_by_listing';
  const byGroup =
    group !== undefined && !isEquality(driver) && (orderBy === undefined || orderBy === driver.name);
  return byGroup ? 'entries_by_group' : 'entries_by_value';
}

/**
 * Goes on after a place. Not as a comparison of rows, which servers do not look up in an index, but as the ranges that
 * it stands for.
 */
function addOrder(sql: Sql, { selection, after }: Question, value: string | undefined): void {
  const descending = selection.direction === 'descending';
  const terms: [string, string][] = [];
  if (value !== undefined) terms.push([value, after?.value ?? '']);
  if (selection.group === undefined) terms.push(['d.listing_group', after?.listing_group ?? '']);
  terms.push(['d.listing_id', after?.listing_id ?? '']);
  if (after !== undefined) {
    const ranges: string[] = [];
    const values: Value[] = [];
    for (const [index, [name, place]] of terms.entries()) {
      const before = terms.slice(0, index);
      ranges.push(
        [...before.map(([each]) => `${each} = ?`), `${name} ${descending ? '<' : '>'} ?`].join(' AND '),
      );
      values.push(...before.map(([, each]) => each), place);
    }
    sql.add(`AND (${ranges.map((range) => `(${range})`).join(' OR ')})`, ...values);
  }
  sql.add(`ORDER BY ${terms.map(([name]) => (descending ? `${name} DESC` : name)).join(', ')}`);
}

export function cursorOf({ value, listing_group, listing_id }: Place): string {
  return Buffer.from(JSON.stringify([value, listing_group, listing_id])).toString('base64url');
}

function placeOf(cursor: string, ordered: boolean): Place {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw strangeCursor();
  }
  if (!Array.isArray(parts) || parts.length !== 3) throw strangeCursor();
  const [value, group, id] = parts as unknown[];
  if (typeof group !== 'string' || typeof id !== 'string') throw strangeCursor();
  if (ordered ? typeof value !== 'string' : value !== null) throw strangeCursor();
  return { value: value as string | null, listing_group: group, listing_id: id };
}

function strangeCursor(): Error {
  return new Error('`after` is not the `next` of a page of this list');
}
