import {
  addDriver,
  addOrder,
  type CountedRows,
  countMax,
  countQuestion,
  cursorOf,
  type ListDriver,
  type ListPlace,
  type ListPlan,
  type ListQuestion,
  listQuestion,
  orderValue,
  predicatesToCount,
} from '../list-plan.ts';
import type { CountSelection, ListSelection, Scope } from '../port.ts';
import { addBounds, isEquality, type Predicate } from '../predicates.ts';
import { IN_SCOPE, ofScope, Sql, type Statement } from './statement.ts';

export interface PlaceRow extends ListPlace {
  readonly id: string;
  readonly body_bytes: number;
}

/** A row of a walk, whether it matches or not. */
export interface WalkRow extends PlaceRow {
  readonly matched: 0 | 1;
}

/** Cursors of this provider are base64url: a token of an earlier release stays valid. */
export function questionOf(selection: ListSelection): ListQuestion | undefined {
  return listQuestion(withPlainCursor(selection));
}

export function countQuestionOf(selection: CountSelection): ListQuestion | undefined {
  return countQuestion(withPlainCursor(selection));
}

function withPlainCursor<S extends { readonly after?: string }>(selection: S): S {
  const { after } = selection;
  return after === undefined
    ? selection
    : { ...selection, after: Buffer.from(after, 'base64url').toString() };
}

export function encodedCursorOf(place: ListPlace): string {
  return Buffer.from(cursorOf(place)).toString('base64url');
}

/** Counts the entries of each predicate up to a bound; `undefined` where there is no choice between drivers. */
export function countsOf(
  scope: Scope,
  question: ListQuestion,
): Statement<Record<string, number>> | undefined {
  const predicates = predicatesToCount(question);
  if (predicates.length === 0) return undefined;
  const sql = new Sql().add('SELECT');
  for (const [index, predicate] of predicates.entries()) {
    if (index > 0) sql.add(',');
    sql.add('(SELECT COUNT(*) FROM (SELECT 1 FROM');
    addEntries(sql, scope, question, predicate);
    sql.add(`LIMIT ${countMax}) AS t${index}) AS c${index}`);
  }
  return sql;
}

/** The places of one page out of a few entries, in order, and one more when there is a next page. */
export function placesOf(scope: Scope, plan: ListPlan): Statement<PlaceRow> {
  const { question, driver, others, sorted } = plan;
  const { selection, orderBy } = question;
  const value = orderValue(plan);
  const record = driver === 'listing' ? 'd' : 'r';
  const sql = new Sql().add(`SELECT d.id, ${value ?? 'NULL'} AS value, d.listing_group, d.listing_id,`);
  sql.add(`${record}.body_bytes FROM`);
  // Each further index of a record is one row, found by its key: joining it asks the same as EXISTS would.
  const joins = new Sql();
  if (sorted && orderBy !== undefined) joins.add(entryOf('o'), orderBy);
  for (const [index, { name }] of others.entries()) joins.add(entryOf(`e${index}`), name);
  if (driver !== 'listing') joins.add(`STRAIGHT_JOIN {records} AS r ON ${sameRecord('r')}`);
  addRows(sql, scope, plan, joins);
  for (const [index, predicate] of others.entries()) addBounds(sql, `e${index}.value`, predicate);
  if (plan.skipsHidden) sql.add('AND d.hidden = 0');
  addOrder(sql, question, value, { compares: 'ranges' });
  return sql.add('LIMIT ?', selection.limit + 1);
}

/**
 * The next rows of the driver, in the order of its index, which is the order of the list. Rows that do not match are
 * included with a flag, so that the server reads no more rows than these.
 */
export function walkOf(scope: Scope, plan: ListPlan, rows: number): Statement<WalkRow> {
  const value = orderValue(plan);
  const { joins, matched } = matchesOf(plan);
  const record = plan.driver === 'listing' ? 'd' : 'r';
  if (record === 'r') joins.add(`LEFT JOIN {records} AS r ON ${sameRecord('r')} AND ${matched}`);
  const sql = new Sql().add(`SELECT d.id, ${value ?? 'NULL'} AS value, d.listing_group, d.listing_id,`);
  // Null where the row does not match, and then unused. An expression over it would come as a text of digits.
  sql.add(`${record}.body_bytes, ${matched} AS matched FROM`);
  addRows(sql, scope, plan, joins);
  addOrder(sql, plan.question, value, { compares: 'ranges' });
  return sql.add('LIMIT ?', rows);
}

/** Counts as many rows of the driver, in the order of the list. */
export function countPageOf(scope: Scope, plan: ListPlan, rows: number): Statement<CountedRows> {
  const { joins, matched } = matchesOf(plan);
  const sql = new Sql().add('SELECT COUNT(*) AS walked, COUNT(NULLIF(w.matched, 0)) AS matched,');
  sql.add(`MAX(w.listing_id) AS last FROM (SELECT d.listing_id, ${matched} AS matched FROM`);
  addRows(sql, scope, plan, joins);
  addOrder(sql, plan.question, undefined, { compares: 'ranges' });
  return sql.add('LIMIT ?) AS w', rows);
}

/** Whether a row of the driver matches, and the entries that show it. */
function matchesOf(plan: ListPlan): { readonly joins: Sql; readonly matched: string } {
  const { others } = plan;
  const joins = new Sql();
  const matches: string[] = [];
  if (plan.skipsHidden) matches.push('d.hidden = 0');
  for (const [index, predicate] of others.entries()) {
    const alias = `e${index}`;
    joins.add(
      `LEFT JOIN {entries} AS ${alias} ON ${sameRecord(alias)} AND ${alias}.name = ?`,
      predicate.name,
    );
    addBounds(joins, `${alias}.value`, predicate);
    matches.push(`${alias}.id IS NOT NULL`);
  }
  return { joins, matched: matches.length === 0 ? '1' : `(${matches.join(' AND ')})` };
}

function sameRecord(alias: string): string {
  return `${alias}.space = d.space AND ${alias}.collection = d.collection AND ${alias}.id = d.id`;
}

function entryOf(alias: string): string {
  return `STRAIGHT_JOIN {entries} AS ${alias} ON ${sameRecord(alias)} AND ${alias}.name = ?`;
}

/** The entries of one predicate as `d`. */
function addEntries(sql: Sql, scope: Scope, question: ListQuestion, predicate: Predicate): void {
  addTable(sql, scope, question, predicate);
  sql.add('AND d.name = ?', predicate.name);
  addBounds(sql, 'd.value', predicate);
  addGroup(sql, question.selection);
}

/** The rows of the driver as `d`. */
function addRows(sql: Sql, scope: Scope, plan: ListPlan, joins: Sql): void {
  addTable(sql, scope, plan.question, plan.driver, joins);
  // Each page is one range of the index whether the bound is repeated or not.
  addDriver(sql, plan, { skipsToCursor: false, groupsNames: false });
  addGroup(sql, plan.question.selection);
}

/** The driver's table through the index whose order the list has. */
function addTable(
  sql: Sql,
  scope: Scope,
  { selection, orderBy }: ListQuestion,
  driver: ListDriver,
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
}

function addGroup(sql: Sql, { group }: ListSelection): void {
  if (group !== undefined) sql.add('AND d.listing_group = ?', group);
}

function indexOf(driver: ListDriver, group: string | undefined, orderBy: string | undefined): string {
  if (driver === 'listing') return 'records_by_listing';
  const byGroup =
    group !== undefined && !isEquality(driver) && (orderBy === undefined || orderBy === driver.name);
  return byGroup ? 'entries_by_group' : 'entries_by_value';
}
