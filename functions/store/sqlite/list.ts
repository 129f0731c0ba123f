import type { SQLInputValue } from 'node:sqlite';
import type { ListSelection } from '../port.ts';
import type { Connection } from './connection.ts';

/** Where a record stands in a list; also what a cursor holds. `value` only where an index orders the list. */
export interface Place {
  readonly record: number;
  readonly value: string | null;
  readonly listing_group: string;
  readonly listing_id: string;
}

/** A predicate with at most so many entries is read whole and sorted instead of walking the order's index. */
const fewEntries = 1000;

interface Predicate {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** What is left of a selection once predicates on one index are merged. */
interface Question {
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  /** Absent also where an equality fixes the value, so that group and id alone order the list. */
  readonly orderBy: string | undefined;
  readonly after: Place | undefined;
  readonly limit: number;
}

/** The places that match, in order; at most `limit`. */
export function findPlaces(
  connection: Connection,
  space: number,
  selection: ListSelection,
  after: Place | undefined,
  limit: number,
): Place[] {
  const merged = mergePredicates(selection);
  if (merged === undefined) return [];
  const { equal = {}, orderBy } = selection;
  const ordered = orderBy === undefined || Object.hasOwn(equal, orderBy) ? undefined : orderBy;
  const question: Question = { selection, predicates: merged, orderBy: ordered, after, limit };
  const driver = chooseDriver(connection, space, question);
  const { text, values } = statementOf(space, question, driver);
  return connection.all<Place>(text, ...values);
}

/** `undefined` when the range leaves out what an equality on the same index asks for. */
function mergePredicates({ equal = {}, range }: ListSelection): Predicate[] | undefined {
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
    return predicates.find(({ name }) => name === orderBy) ?? { name: orderBy, from: undefined, to: undefined };
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
  addBounds(sql, 'd.value', predicate);
  if (group !== undefined) sql.add('AND d.listing_group = ?', group);
  sql.add('LIMIT ?)', fewEntries + 1);
  return connection.get<{ entries: number }>(sql.text, ...sql.values)?.entries ?? 0;
}

/** CROSS JOIN keeps the order of the tables as written: the driver outermost. */
function statementOf(space: number, question: Question, driver: Predicate | 'listing'): Sql {
  const { selection, predicates, orderBy, limit } = question;
  const sql = new Sql();
  const sorted = orderBy !== undefined && (driver === 'listing' || driver.name !== orderBy);
  const value = orderBy === undefined ? 'NULL' : sorted ? 'o.value' : 'd.value';
  sql.add(`SELECT d.record, ${value} AS value, d.listing_group, d.listing_id`);
  sql.add(driver === 'listing' ? 'FROM records AS d' : 'FROM entries AS d');
  const rest = predicates.filter((predicate) => predicate !== driver);
  const equalities = rest.filter(isEquality);
  const range = rest.find((predicate) => !isEquality(predicate) && !(sorted && predicate.name === orderBy));
  const orderRange = sorted ? rest.find((predicate) => predicate.name === orderBy) : undefined;
  // A value that is not walked in its own order is looked up in the record itself, where it is one member of few.
  if (range !== undefined || sorted) sql.add('CROSS JOIN records AS r ON r.record = d.record');
  if (range !== undefined) addMember(sql, 'q', range);
  if (sorted) addMember(sql, 'o', orderRange ?? { name: orderBy, from: undefined, to: undefined });
  sql.add('WHERE d.space = ? AND d.collection = ?', space, selection.collection.name);
  if (driver === 'listing') {
    sql.add('AND d.listing_group IS NOT NULL');
    if (predicates.length > 0 || selection.includeHidden !== true) sql.add('AND d.hidden = 0');
  } else {
    sql.add('AND d.name = ?', driver.name);
    addBounds(sql, 'd.value', driver, sorted ? undefined : boundByCursor(question));
  }
  if (selection.group !== undefined) sql.add('AND d.listing_group = ?', selection.group);
  for (const { name, from = '' } of equalities) {
    sql.add('AND EXISTS (SELECT 1 FROM entries AS e WHERE e.space = d.space AND e.collection = d.collection');
    sql.add('AND e.name = ? AND e.value = ?', name, from);
    sql.add('AND e.listing_group = d.listing_group AND e.listing_id = d.listing_id)');
  }
  addOrder(sql, question, value);
  sql.add('LIMIT ?', limit);
  return sql;
}

/** The cursor lies within the bounds already; SQLite would else start at the bound and skip up to the cursor. */
function boundByCursor({ after, orderBy, selection }: Question): 'from' | 'to' | undefined {
  if (after === undefined || orderBy === undefined) return undefined;
  return selection.direction === 'descending' ? 'to' : 'from';
}

function addOrder(sql: Sql, { selection, orderBy, after }: Question, value: string): void {
  const terms: [string, SQLInputValue][] = [];
  if (orderBy !== undefined) terms.push([value, after?.value ?? '']);
  if (selection.group === undefined) terms.push(['d.listing_group', after?.listing_group ?? '']);
  terms.push(['d.listing_id', after?.listing_id ?? '']);
  const names = terms.map(([name]) => name);
  const descending = selection.direction === 'descending';
  if (after !== undefined) {
    const marks = terms.map(() => '?').join(', ');
    sql.add(`AND (${names.join(', ')}) ${descending ? '<' : '>'} (${marks})`, ...terms.map(([, place]) => place));
  }
  sql.add(`ORDER BY ${names.map((name) => (descending ? `${name} DESC` : name)).join(', ')}`);
}

function addMember(sql: Sql, alias: string, predicate: Predicate): void {
  sql.add(`CROSS JOIN json_each(r.indexes) AS ${alias} ON ${alias}.key = ?`, predicate.name);
  addBounds(sql, `${alias}.value`, predicate);
}

function addBounds(sql: Sql, column: string, { from, to }: Predicate, covered?: 'from' | 'to'): void {
  if (from !== undefined && from === to) {
    sql.add(`AND ${column} = ?`, from);
    return;
  }
  if (from !== undefined && covered !== 'from') sql.add(`AND ${column} >= ?`, from);
  if (to !== undefined && covered !== 'to') sql.add(`AND ${column} <= ?`, to);
}

function isEquality({ from, to }: Predicate): boolean {
  return from !== undefined && from === to;
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
