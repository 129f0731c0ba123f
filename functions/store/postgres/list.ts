import { listedName } from '../grouping.ts';
import {
  addDriver,
  addOrder,
  type CountedRows,
  countMax,
  type ListPlan,
  type ListQuestion,
  orderValue,
  predicatesToCount,
  walkMax,
} from '../list-plan.ts';
import type { ListSelection, Scope } from '../port.ts';
import { addBounds, isEquality, type Predicate } from '../predicates.ts';
import { columns, liveSpace, type RecordRow, sizeOf } from './rows.ts';
import type { Statement } from './statement.ts';

/** A record on the way of a list's walk. */
export interface ListRow extends RecordRow {
  /** The number of the row in the walk, from 1. */
  readonly n: number;
  readonly matched: boolean;
  readonly value: string | null;
  readonly listing_group: string;
  readonly bytes: string;
}

/** How many entries each predicate has, in its order, as far as that matters; `undefined` when nothing depends on it. */
export function countStatement(
  scope: Scope,
  question: ListQuestion,
): Statement<Record<string, number>> | undefined {
  const { selection } = question;
  const predicates = predicatesToCount(question);
  if (predicates.length === 0) return undefined;
  const sql = new Sql(scope);
  sql.add('SELECT');
  for (const [index, predicate] of predicates.entries()) {
    sql.add(index === 0 ? '(' : ', (');
    sql.add(`SELECT count(*)::int FROM (SELECT 1 FROM entries AS d WHERE d.space = ${liveSpace}`);
    sql.add(
      'AND d.collection = ? AND d.name = ?',
      selection.collection.name,
      listedName(selection, predicate.name),
    );
    addBounds(sql, 'd.value', predicate);
    addGroup(sql, selection, 'entries');
    sql.add(`LIMIT ${countMax}) AS few) AS c${index}`);
  }
  return sql.statement();
}

/**
 * One page, from one snapshot: the records that match, one more than asked for, and the one at which the walk ends, after
 * which the next page starts. Every level is read row by row, so the walk goes no further than necessary.
 */
export function pageStatement(
  scope: Scope,
  plan: ListPlan,
  bytesMax: number,
  rowsMax = walkMax,
): Statement<ListRow> {
  const { view = 'body', limit } = plan.question.selection;
  const [shown, size] = view === 'head' ? [columns, '0'] : [`${columns}, r.body`, sizeOf];
  const sql = new Sql(scope);
  sql.add(`SELECT * FROM (SELECT w.n, w.matched, w.value, ${shown}, ${size} AS own,`);
  sql.add(`sum(${size}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes`);
  sql.add('FROM (SELECT d.*, (row_number() OVER ())::int AS n FROM (');
  addWalk(sql, plan);
  sql.add('LIMIT ?::bigint) AS d) AS w', rowsMax);
  sql.add('CROSS JOIN LATERAL (SELECT r.* FROM records AS r');
  sql.add('WHERE r.space = w.space AND r.collection = w.collection AND r.id = w.id OFFSET 0) AS r');
  sql.add('WHERE w.matched OR w.n = ?::bigint LIMIT ?::bigint) AS p', rowsMax, limit + 1);
  sql.add(`WHERE p.bytes - p.own < ${bytesMax}`);
  return sql.statement();
}

/** Counts one page of the driver's rows, in the order of the list. */
export function countPageStatement(scope: Scope, plan: ListPlan): Statement<CountedRows> {
  const sql = new Sql(scope);
  sql.add('SELECT count(*)::int AS walked, (count(*) FILTER (WHERE w.matched))::int AS matched,');
  sql.add('max(w.listing_id) AS last FROM (');
  addWalk(sql, plan);
  sql.add(`LIMIT ${walkMax}) AS w`);
  return sql.statement();
}

/** The driver's rows in the order of the list; `matched` shows for each whether the other predicates hold. */
function addWalk(sql: Sql, plan: ListPlan): void {
  const { question, table, others, sorted, inOrder } = plan;
  const value = orderValue(plan);
  sql.add(`SELECT d.space, d.collection, d.id, d.listing_id, ${value ?? 'NULL::text'} AS value, (true`);
  if (plan.skipsHidden) sql.add('AND NOT d.hidden');
  for (const predicate of others) addPredicate(sql, question.selection, predicate);
  sql.add(') AS matched FROM');
  // Few rows that still have to be sorted are fetched by their predicate, not by an index that would sort all.
  if (!inOrder) sql.add('(SELECT d.* FROM');
  sql.add(
    `${table} AS d WHERE d.space = ${liveSpace} AND d.collection = ?`,
    question.selection.collection.name,
  );
  addDriver(sql, plan, { skipsToCursor: true, groupsNames: true });
  addGroup(sql, question.selection, table);
  if (!inOrder) sql.add('OFFSET 0) AS d');
  if (sorted && question.orderBy !== undefined) {
    sql.add(
      'CROSS JOIN LATERAL (SELECT (r.indexes::json ->> ?::text) COLLATE "C" AS value',
      question.orderBy,
    );
    sql.add('FROM records AS r WHERE r.space = d.space AND r.collection = d.collection AND r.id = d.id');
    sql.add('OFFSET 0) AS o');
  }
  if (!inOrder) sql.add(sorted ? 'WHERE o.value IS NOT NULL' : 'WHERE true');
  addOrder(sql, question, value, { compares: 'rows' });
}

/**
 * `paired` is the condition of the index by group; it is true for all entries of the collection, or for none. It is
 * omitted without a group: the server might otherwise choose that index as the smaller one and read every value in it.
 */
function addGroup(sql: Sql, { collection, group }: ListSelection, table: 'records' | 'entries'): void {
  if (group === undefined) return;
  sql.add('AND d.listing_group = ?', group);
  if (table === 'entries' && collection.pairedIndexes) sql.add('AND d.paired');
}

/** One probe for an equality. A range would scan its entries, so it is judged by the record. */
export function addPredicate(sql: Sql, selection: ListSelection, predicate: Predicate): void {
  // A scalar subquery is asked row by row; of an EXISTS the server might read all entries beforehand into a table.
  if (isEquality(predicate)) {
    sql.add('AND (SELECT 1 FROM entries AS e WHERE e.space = d.space AND e.collection = d.collection');
    sql.add('AND e.name = ?', listedName(selection, predicate.name));
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

/** A statement under construction: each question mark takes the next value. The scope is `$1` and `$2`. */
export class Sql {
  #text = '';
  readonly #values: (string | number)[];

  constructor({ kind, name }: Scope) {
    this.#values = [kind, name];
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
