import type { ListSelection } from '../port.ts';
import { addBounds, isEquality, type Predicate } from '../predicates.ts';
import type { Statement } from './connection.ts';
import { columns, liveSpace, type RecordRow, sizeOf } from './rows.ts';

/** Where a record stands in a list, which is what a cursor holds. `value` only where an index orders the list. */
export interface Place {
  readonly value: string | null;
  readonly group: string;
  readonly id: string;
}

/** A record on the way of a list's walk. */
export interface ListRow extends RecordRow {
  /** Its number in the walk, from 1. */
  readonly n: number;
  readonly matched: boolean;
  readonly value: string | null;
  readonly bytes: string;
}

/** Index rows that one page looks at; the page is short when they are used up. */
export const walkMax = 5000;

/** A predicate with at most so many entries is read whole and sorted instead of walking the order's index. */
const fewEntries = 1000;

/** What is left of a selection once predicates on one index are merged. */
export interface Question {
  readonly kind: string;
  readonly scope: string;
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  /** Absent also where an equality fixes the value, so that group and id alone order the list. */
  readonly orderBy: string | undefined;
  readonly after: Place | undefined;
}

export type Driver = Predicate | 'listing';

/** How many entries each predicate has, in its order, as far as that matters; `undefined` when nothing depends on it. */
export function countStatement(question: Question): Statement<Record<string, number>> | undefined {
  const { predicates, orderBy, selection } = question;
  if (predicates.length === 0) return undefined;
  if (predicates.length === 1 && predicates[0]?.name === orderBy) return undefined;
  const sql = new Sql(question);
  sql.add('SELECT');
  for (const [index, predicate] of predicates.entries()) {
    sql.add(index === 0 ? '(' : ', (');
    sql.add(`SELECT count(*)::int FROM (SELECT 1 FROM entries AS d WHERE d.space = ${liveSpace}`);
    sql.add('AND d.collection = ? AND d.name = ?', selection.collection.name, predicate.name);
    addBounds(sql, 'd.value', predicate);
    addGroup(sql, selection, 'entries');
    sql.add(`LIMIT ${fewEntries + 1}) AS few) AS c${index}`);
  }
  return sql.statement();
}

/**
 * Which entries to walk. The order's own index needs no sorting, but walks in vain when a predicate matches little;
 * so a predicate with few entries goes first. The server cannot know: the names of indexes are data here.
 */
export function chooseDriver({ predicates, orderBy }: Question, counts: readonly number[]): Driver {
  let fewest: Predicate | undefined;
  let count = fewEntries + 1;
  for (const [index, predicate] of predicates.entries()) {
    const entries = counts[index] ?? count;
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

/**
 * One page, from one snapshot: the records that match, one more than asked for, and the one at which the walk ends, which
 * is where the next page goes on. Every level is read row by row, so the walk goes no further than it has to.
 */
export function pageStatement(question: Question, driver: Driver, bytesMax: number): Statement<ListRow> {
  const sql = new Sql(question);
  sql.add(`SELECT * FROM (SELECT w.n, w.matched, w.value, ${columns}, r.body, ${sizeOf} AS own,`);
  sql.add(`sum(${sizeOf}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes`);
  sql.add('FROM (SELECT d.*, (row_number() OVER ())::int AS n FROM (');
  addWalk(sql, question, driver);
  sql.add(`LIMIT ${walkMax}) AS d) AS w`);
  sql.add('CROSS JOIN LATERAL (SELECT r.* FROM records AS r');
  sql.add('WHERE r.space = w.space AND r.collection = w.collection AND r.id = w.id OFFSET 0) AS r');
  sql.add(`WHERE w.matched OR w.n = ${walkMax} LIMIT ?::bigint) AS p`, question.selection.limit + 1);
  sql.add(`WHERE p.bytes - p.own < ${bytesMax}`);
  return sql.statement();
}

/** The driver's rows in the order asked for; `matched` says of each whether the other predicates hold. */
function addWalk(sql: Sql, question: Question, driver: Driver): void {
  const { selection, predicates, orderBy } = question;
  const sorted = orderBy !== undefined && (driver === 'listing' || driver.name !== orderBy);
  const inOrder = !sorted && (driver === 'listing' || isEquality(driver) || orderBy !== undefined);
  const value = orderBy === undefined ? 'NULL::text' : sorted ? 'o.value' : 'd.value';
  sql.add(`SELECT d.space, d.collection, d.id, ${value} AS value, (true`);
  if (driver === 'listing' && selection.includeHidden !== true) sql.add('AND NOT d.hidden');
  for (const predicate of predicates) {
    if (predicate !== driver) addPredicate(sql, predicate);
  }
  sql.add(') AS matched FROM');
  // Few rows that still have to be sorted are fetched by what they are asked for, not by an index that would sort all.
  if (!inOrder) sql.add('(SELECT d.* FROM');
  sql.add(driver === 'listing' ? 'records AS d' : 'entries AS d');
  addDriver(sql, question, driver, inOrder && orderBy !== undefined);
  if (!inOrder) sql.add('OFFSET 0) AS d');
  if (sorted) {
    sql.add('CROSS JOIN LATERAL (SELECT (r.indexes::json ->> ?::text) COLLATE "C" AS value', orderBy);
    sql.add('FROM records AS r WHERE r.space = d.space AND r.collection = d.collection AND r.id = d.id');
    sql.add('OFFSET 0) AS o');
  }
  if (!inOrder) sql.add(sorted ? 'WHERE o.value IS NOT NULL' : 'WHERE true');
  addOrder(sql, question, value);
}

function addDriver(sql: Sql, question: Question, driver: Driver, ordersByValue: boolean): void {
  const { selection } = question;
  sql.add(`WHERE d.space = ${liveSpace} AND d.collection = ?`, selection.collection.name);
  if (driver === 'listing') {
    sql.add('AND d.listing_group IS NOT NULL');
  } else {
    sql.add('AND d.name = ?', driver.name);
    addBounds(sql, 'd.value', driver, ordersByValue ? boundByCursor(question) : undefined);
  }
  addGroup(sql, selection, driver === 'listing' ? 'records' : 'entries');
}

/**
 * `paired` is what the index by group asks for; the entries of the collection are all so, or none is. Without a group it
 * is not said, because the server might take that index for the smaller one and read every value in it.
 */
function addGroup(sql: Sql, { collection, group }: ListSelection, table: 'records' | 'entries'): void {
  if (group === undefined) return;
  sql.add('AND d.listing_group = ?', group);
  if (table === 'entries' && collection.pairedIndexes) sql.add('AND d.paired');
}

/** One probe for an equality. A range would scan its entries, so it is judged by the record. */
function addPredicate(sql: Sql, predicate: Predicate): void {
  // A scalar subquery is asked row by row; of an EXISTS the server might read all entries beforehand into a table.
  if (isEquality(predicate)) {
    sql.add('AND (SELECT 1 FROM entries AS e WHERE e.space = d.space AND e.collection = d.collection');
    sql.add('AND e.name = ?', predicate.name);
    addBounds(sql, 'e.value', predicate);
    sql.add('AND e.listing_group = d.listing_group AND e.listing_id = d.listing_id LIMIT 1) IS NOT NULL');
    return;
  }
  sql.add('AND (SELECT 1 FROM records AS r WHERE r.space = d.space AND r.collection = d.collection');
  sql.add('AND r.id = d.id AND NOT r.hidden');
  const value = '(r.indexes::json ->> ?::text) COLLATE "C"';
  if (predicate.from !== undefined) sql.add(`AND ${value} >= ?`, predicate.name, predicate.from);
  if (predicate.to !== undefined) sql.add(`AND ${value} <= ?`, predicate.name, predicate.to);
  if (predicate.from === undefined && predicate.to === undefined) {
    sql.add(`AND ${value} IS NOT NULL`, predicate.name);
  }
  sql.add(') IS NOT NULL');
}

/** The cursor lies within the bounds already; the server would else start at the bound and skip up to the cursor. */
function boundByCursor({ after, orderBy, selection }: Question): 'from' | 'to' | undefined {
  if (after === undefined || orderBy === undefined) return undefined;
  return selection.direction === 'descending' ? 'to' : 'from';
}

function addOrder(sql: Sql, { selection, orderBy, after }: Question, value: string): void {
  const terms: [string, string][] = [];
  if (orderBy !== undefined) terms.push([value, after?.value ?? '']);
  if (selection.group === undefined) terms.push(['d.listing_group', after?.group ?? '']);
  terms.push(['d.listing_id', after?.id ?? '']);
  const names = terms.map(([name]) => name);
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

/** A statement under construction: each question mark takes the next value. The scope is `$1` and `$2`. */
class Sql {
  #text = '';
  readonly #values: (string | number)[];

  constructor({ kind, scope }: Question) {
    this.#values = [kind, scope];
  }

  add(text: string, ...values: (string | number)[]): void {
    let next = 0;
    const numbered = text.replaceAll('?', () => {
      this.#values.push(values[next] ?? '');
      next += 1;
      return `$${this.#values.length}`;
    });
    if (next !== values.length) throw new Error('a mark without a value, or the reverse');
    this.#text += this.#text === '' ? numbered : ` ${numbered}`;
  }

  statement<Row>(): Statement<Row> {
    return { text: this.#text, values: this.#values };
  }
}
