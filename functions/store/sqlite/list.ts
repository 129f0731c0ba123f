import type { SQLInputValue } from 'node:sqlite';
import type { ListSelection } from '../port.ts';
import { addBounds, isEquality, mergePredicates, type Predicate } from '../predicates.ts';
import type { Connection } from './connection.ts';

/** Where a record stands in a list; also what a cursor holds. `value` only where an index orders the list. */
export interface Place {
  readonly record: number;
  readonly value: string | null;
  readonly listing_group: string;
  readonly listing_id: string;
}

/** Index rows that one page looks at, which bounds how long the event loop stands still; the page is short then. */
const walkMax = 5000;

/** A predicate with at most so many entries is read whole and sorted instead of walking the order's index. */
const fewEntries = 1000;

/** What is left of a selection once predicates on one index are merged. */
interface Question {
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  /** Absent also where an equality fixes the value, so that group and id alone order the list. */
  readonly orderBy: string | undefined;
  readonly after: Place | undefined;
}

/** A page of places, in order; `next` is the place after which the following page goes on. */
export interface Walk {
  readonly places: readonly Place[];
  readonly next: Place | undefined;
}

export function findPlaces(
  connection: Connection,
  space: number,
  selection: ListSelection,
  after: Place | undefined,
): Walk {
  const predicates = mergePredicates(selection);
  if (predicates === undefined) return { places: [], next: undefined };
  const { equal = {}, orderBy } = selection;
  const ordered = orderBy === undefined || Object.hasOwn(equal, orderBy) ? undefined : orderBy;
  const question: Question = { selection, predicates, orderBy: ordered, after };
  const { text, values } = statementOf(space, question, chooseDriver(connection, space, question));
  const places: Place[] = [];
  let walked = 0;
  for (const { matched, ...place } of connection.iterate<Place & { matched: number }>(text, ...values)) {
    // One match more than asked for tells that there is a next page.
    if (matched === 1 && places.length === selection.limit) return { places, next: places.at(-1) };
    if (matched === 1) places.push(place);
    walked += 1;
    if (walked === walkMax) return { places, next: place };
  }
  return { places, next: undefined };
}

/**
 * Which entries to walk. The order's own index needs no sorting, but walks in vain when a predicate matches little;
 * so a predicate with few entries goes first. SQLite cannot know: the names of indexes are data here.
 */
function chooseDriver(connection: Connection, space: number, question: Question): Predicate | 'listing' {
  const { predicates, orderBy } = question;
  let fewest: Predicate | undefined;
  let count = fewEntries + 1;
  for (const predicate of predicates) {
    if (predicates.length === 1 && predicate.name === orderBy) break;
    const entries = countEntries(connection, space, question.selection, predicate);
    if (entries < count) [fewest, count] = [predicate, entries];
  }
  if (fewest !== undefined) return fewest;
  if (orderBy !== undefined) {
    return (
      predicates.find(({ name }) => name === orderBy) ?? { name: orderBy, from: undefined, to: undefined }
    );
  }
  return predicates.find(isEquality) ?? 'listing';
}

function countEntries(
  connection: Connection,
  space: number,
  { collection, group }: ListSelection,
  predicate: Predicate,
): number {
  const sql = new Sql();
  sql.add('SELECT count(*) AS entries FROM (SELECT 1 FROM entries AS d WHERE');
  sql.add('d.space = ? AND d.collection = ? AND d.name = ?', space, collection.name, predicate.name);
  if (collection.pairedIndexes) sql.add('AND d.paired = 1');
  addBounds(sql, 'd.value', predicate);
  if (group !== undefined) sql.add('AND d.listing_group = ?', group);
  sql.add('LIMIT ?)', fewEntries + 1);
  return connection.get<{ entries: number }>(sql.text, ...sql.values)?.entries ?? 0;
}

/** Walks the driver; `matched` says of each row whether the other predicates hold. */
function statementOf(space: number, question: Question, driver: Predicate | 'listing'): Sql {
  const { selection, predicates, orderBy } = question;
  const sql = new Sql();
  const sorted = orderBy !== undefined && (driver === 'listing' || driver.name !== orderBy);
  const value = orderBy === undefined ? 'NULL' : sorted ? 'o.value' : 'd.value';
  sql.add(`SELECT d.record, ${value} AS value, d.listing_group, d.listing_id, (1`);
  if (driver === 'listing' && selection.includeHidden !== true) sql.add('AND d.hidden = 0');
  for (const predicate of predicates) {
    if (predicate !== driver) addPredicate(sql, predicate);
  }
  sql.add(`) AS matched FROM ${driver === 'listing' ? 'records' : 'entries'} AS d`);
  if (sorted) {
    // CROSS JOIN keeps the driver outermost. Its few rows are looked up in the records and sorted.
    sql.add('CROSS JOIN records AS r ON r.record = d.record');
    sql.add('CROSS JOIN json_each(r.indexes) AS o ON o.key = ?', orderBy);
  }
  sql.add('WHERE d.space = ? AND d.collection = ?', space, selection.collection.name);
  if (driver === 'listing') {
    sql.add('AND d.listing_group IS NOT NULL');
  } else {
    sql.add('AND d.name = ?', driver.name);
    // Says what the index of the second order asks for; the entries of the collection are all so, or none is.
    if (selection.collection.pairedIndexes) sql.add('AND d.paired = 1');
    addBounds(sql, 'd.value', driver, sorted ? undefined : boundByCursor(question));
  }
  if (selection.group !== undefined) sql.add('AND d.listing_group = ?', selection.group);
  // Where the driver does not lead in the order asked for, a plus keeps SQLite from walking all of another index for it.
  const inOrder = driver === 'listing' || isEquality(driver) || (orderBy !== undefined && !sorted);
  addOrder(sql, question, value, inOrder ? '' : '+');
  return sql;
}

/** One probe for an equality. A range would scan its entries, so it is judged by the record, where it is one of few. */
function addPredicate(sql: Sql, predicate: Predicate): void {
  if (isEquality(predicate)) {
    sql.add('AND EXISTS (SELECT 1 FROM entries AS e WHERE e.space = d.space AND e.collection = d.collection');
    sql.add('AND e.name = ?', predicate.name);
    addBounds(sql, 'e.value', predicate);
    sql.add('AND e.listing_group = d.listing_group AND e.listing_id = d.listing_id)');
    return;
  }
  sql.add('AND EXISTS (SELECT 1 FROM records AS r, json_each(r.indexes) AS q WHERE r.record = d.record');
  sql.add('AND q.key = ?', predicate.name);
  addBounds(sql, 'q.value', predicate);
  sql.add(')');
}

/** The cursor lies within the bounds already; SQLite would else start at the bound and skip up to the cursor. */
function boundByCursor({ after, orderBy, selection }: Question): 'from' | 'to' | undefined {
  if (after === undefined || orderBy === undefined) return undefined;
  return selection.direction === 'descending' ? 'to' : 'from';
}

function addOrder(sql: Sql, { selection, orderBy, after }: Question, value: string, plus: '' | '+'): void {
  const terms: [string, SQLInputValue][] = [];
  if (orderBy !== undefined) terms.push([value, after?.value ?? '']);
  if (selection.group === undefined) terms.push(['d.listing_group', after?.listing_group ?? '']);
  terms.push(['d.listing_id', after?.listing_id ?? '']);
  const names = terms.map(([name]) => plus + name);
  const descending = selection.direction === 'descending';
  if (after !== undefined) {
    const marks = terms.map(() => '?').join(', ');
    sql.add(
      `AND (${names.join(', ')}) ${descending ? '<' : '>'} (${marks})`,
      ...terms.map(([, place]) => place),
    );
  }
  sql.add(`ORDER BY ${names.map((name) => (descending ? `${name} DESC` : name)).join(', ')}`);
}

/** A statement under construction: the text, and its values in the order of their marks. */
class Sql {
  text = '';
  readonly values: SQLInputValue[] = [];

  add(text: string, ...values: SQLInputValue[]): void {
    this.text += this.text === '' ? text : ` ${text}`;
    this.values.push(...values);
  }
}
