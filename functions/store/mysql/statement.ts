import type { Scope } from '../port.ts';

export type Value = string | number | null | Buffer;

/**
 * One command: `?` is a value, `{records}` the table of that name with the store's prefix. `Row` is the type of the
 * answered rows; binary columns are read as text, except `vector`.
 */
export interface Statement<Row = unknown> {
  readonly text: string;
  readonly values: readonly Value[];
  /** For the compiler only. */
  readonly row?: Row;
}

export function statement<Row = unknown>(text: string, ...values: readonly Value[]): Statement<Row> {
  return { text, values };
}

/** The session's level applies: each statement reads the data committed by then, so a lock is followed by fresh reads. */
export const BEGIN = statement('START TRANSACTION');
export const COMMIT = statement('COMMIT');
export const ROLLBACK = statement('ROLLBACK');

/** Everything until the end of the transaction is read as of one moment, without locks. */
export const SNAPSHOT: readonly [Statement, Statement] = [
  statement('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'),
  statement('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'),
];

/**
 * How reads name the scope's live space: the server reads this one row first and uses the number as if it were written in
 * the statement. It joins the other tables in the order of the text.
 */
export const IN_SCOPE = '{scopes} AS s STRAIGHT_JOIN';

export function ofScope({ kind, name }: Scope): { text: string; values: readonly [string, string] } {
  return { text: 's.kind = ? AND s.name = ?', values: [kind, name] };
}

/** A statement under construction: the text, and its values in the order of their marks. */
export class Sql {
  text = '';
  readonly values: Value[] = [];

  add(text: string, ...values: readonly Value[]): this {
    this.text += this.text === '' ? text : ` ${text}`;
    this.values.push(...values);
    return this;
  }
}
