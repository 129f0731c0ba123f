import type { SQLInputValue } from 'node:sqlite';
import { listedName } from '../grouping.ts';
import {
  addDriver,
  addOrder,
  type CountedRows,
  countMax,
  countQuestion,
  cursorOf,
  firstLook,
  isPoor,
  type ListPlace,
  type ListPlan,
  type ListQuestion,
  listQuestion,
  orderValue,
  placeAfterCount,
  planList,
  predicatesToCount,
  readsOfCount,
  walkMax,
} from '../list-plan.ts';
import type { CountPage, CountSelection, ListSelection, Scope } from '../port.ts';
import { addBounds, isEquality, type Predicate } from '../predicates.ts';
import type { Connection } from './connection.ts';
import { liveSpace } from './space.ts';

/** A record on the walk of a list. */
interface WalkPlace extends ListPlace {
  readonly record: number;
}

/** A page of places, in order; `next` is the place after which the following page starts. */
export interface PlacePage {
  readonly places: readonly WalkPlace[];
  readonly next: WalkPlace | undefined;
}

/** Reads a bounded number of index rows: the event loop is blocked meanwhile. */
export function findPlaces(connection: Connection, space: number, selection: ListSelection): PlacePage {
  const question = listQuestion(selection);
  if (question === undefined) return { places: [], next: undefined };
  const look = firstLook(connection.looks, `${space}`, question);
  if (look !== undefined) {
    const seen = walk(connection, space, look.plan, look.rows, isPoor);
    if (!seen.isCut) {
      look.advice.filled();
      return seen;
    }
    look.advice.missed(seen.walked, seen.places.length);
  }
  return walk(connection, space, planOf(connection, space, question), walkMax);
}

/** `isCut`: the walk has read all rows that it may read, or was stopped. */
function walk(
  connection: Connection,
  space: number,
  plan: ListPlan,
  rowsMax: number,
  isGivenUp: (walked: number, matched: number) => boolean = () => false,
): PlacePage & { readonly isCut: boolean; readonly walked: number } {
  const { text, values } = statementOf(space, plan);
  const { limit } = plan.question.selection;
  const places: WalkPlace[] = [];
  let walked = 0;
  for (const row of connection.eachTuple<WalkRow>(text, ...values)) {
    const isMatch = row[4] === 1;
    // One match more than the limit shows that there is a next page.
    if (isMatch && places.length === limit) return { places, next: places.at(-1), isCut: false, walked };
    if (isMatch) places.push(placeOf(row));
    walked += 1;
    if (walked === rowsMax || isGivenUp(walked, places.length))
      return { places, next: placeOf(row), isCut: true, walked };
  }
  return { places, next: undefined, isCut: false, walked };
}

type WalkRow = readonly [record: number, value: string | null, group: string, id: string, matched: number];

function placeOf([record, value, listing_group, listing_id]: WalkRow): WalkPlace {
  return { record, value, listing_group, listing_id };
}

/**
 * The most index rows of one page of a count, with a comparison of other indexes for each row or without: the event
 * loop is blocked meanwhile.
 */
const comparedRowsMax = 2_000;
const countedRowsMax = 10_000;

export function countPage(connection: Connection, scope: Scope, selection: CountSelection): CountPage {
  const space = liveSpace(connection, scope);
  const question = countQuestion(selection);
  if (space === undefined || question === undefined) return { count: 0, next: null, reads: 1 };
  const plan = planOf(connection, space, question);
  const { text, values } = statementOf(space, plan);
  const rowsMax = plan.others.length === 0 ? countedRowsMax : comparedRowsMax;
  const sql = `SELECT count(*) AS walked, total(matched) AS matched, max(listing_id) AS last FROM (${text} LIMIT ?)`;
  const counted = connection.get<CountedRows>(sql, ...values, rowsMax);
  if (counted === undefined) return { count: 0, next: null, reads: 1 };
  const place = placeAfterCount(selection, counted, rowsMax);
  const next = place === null ? null : cursorOf(place);
  return { count: counted.matched, next, reads: readsOfCount(plan, counted) };
}

export function planOf(connection: Connection, space: number, question: ListQuestion): ListPlan {
  const counts = predicatesToCount(question).map((predicate) =>
    countEntries(connection, space, question.selection, predicate),
  );
  return planList(question, counts);
}

function countEntries(
  connection: Connection,
  space: number,
  selection: ListSelection,
  predicate: Predicate,
): number {
  const { collection, group } = selection;
  const name = listedName(selection, predicate.name);
  const sql = new Sql();
  sql.add('SELECT count(*) AS entries FROM (SELECT 1 FROM entries AS d WHERE');
  sql.add('d.space = ? AND d.collection = ? AND d.name = ?', space, collection.name, name);
  if (collection.pairedIndexes) sql.add('AND d.paired = 1');
  addBounds(sql, 'd.value', predicate);
  if (group !== undefined) sql.add('AND d.listing_group = ?', group);
  sql.add('LIMIT ?)', countMax);
  return connection.get<{ entries: number }>(sql.text, ...sql.values)?.entries ?? 0;
}

/** Walks the driver; the column `matched` shows for each row whether the other predicates hold. */
function statementOf(space: number, plan: ListPlan): Sql {
  const { question, others, table, sorted, inOrder } = plan;
  const { selection, orderBy } = question;
  const value = orderValue(plan);
  const sql = new Sql();
  sql.add(`SELECT d.record, ${value ?? 'NULL'} AS value, d.listing_group, d.listing_id, (1`);
  if (plan.skipsHidden) sql.add('AND d.hidden = 0');
  for (const predicate of others) addPredicate(sql, selection, predicate);
  sql.add(`) AS matched FROM ${table} AS d`);
  if (sorted && orderBy !== undefined) {
    // CROSS JOIN keeps the driver outermost. Its few rows are looked up in the records and sorted.
    sql.add('CROSS JOIN records AS r ON r.record = d.record');
    sql.add('CROSS JOIN json_each(r.indexes) AS o ON o.key = ?', orderBy);
  }
  sql.add('WHERE d.space = ? AND d.collection = ?', space, selection.collection.name);
  addDriver(sql, plan, { skipsToCursor: true, groupsNames: true });
  // The index of the second order holds paired entries only; the entries of a collection are all paired, or none is.
  if (table === 'entries' && selection.collection.pairedIndexes) sql.add('AND d.paired = 1');
  // Where the index is ordered by value and then by group, SQLite sorts equal values again unless the order has the group as
  // a column: the plus hides that it is fixed. The name of the entries holds it.
  const namesGroup = selection.collection.listedByGroup === true && value !== undefined;
  if (selection.group !== undefined)
    sql.add(`AND ${namesGroup ? '+' : ''}d.listing_group = ?`, selection.group);
  // A plus keeps SQLite from walking all of another index to get the order.
  addOrder(sql, question, value, { compares: 'rows', prefix: inOrder ? '' : '+', namesGroup });
  return sql;
}

/** One probe for an equality. A range would scan its entries, so it is judged by the record, where it is one of few. */
export function addPredicate(sql: Sql, selection: ListSelection, predicate: Predicate): void {
  if (isEquality(predicate)) {
    sql.add('AND EXISTS (SELECT 1 FROM entries AS e WHERE e.space = d.space AND e.collection = d.collection');
    sql.add('AND e.name = ?', listedName(selection, predicate.name));
    addBounds(sql, 'e.value', predicate);
    sql.add('AND e.listing_group = d.listing_group AND e.listing_id = d.listing_id)');
    return;
  }
  sql.add(
    `AND EXISTS (SELECT 1 FROM (${valueOf(predicate.name)} WHERE r.record = d.record) AS q WHERE 1`,
    predicate.name,
  );
  addBounds(sql, 'q.value', predicate);
  sql.add(')');
}

/** A name that `->>` takes for that of a member, and for nothing else. */
const PLAIN_NAME = /^[A-Za-z_]\w*$/;

/** The value of an index of the record `r`. A member by its name takes a fifth of the time of a table of all members. */
function valueOf(name: string): string {
  return PLAIN_NAME.test(name)
    ? 'SELECT r.indexes ->> ? AS value FROM records AS r'
    : 'SELECT q.value FROM records AS r JOIN json_each(r.indexes) AS q ON q.key = ?';
}

/** A statement under construction: the text, and its values in the order of their marks. */
export class Sql {
  text = '';
  readonly values: SQLInputValue[] = [];

  add(text: string, ...values: SQLInputValue[]): void {
    this.text += this.text === '' ? text : ` ${text}`;
    this.values.push(...values);
  }
}
