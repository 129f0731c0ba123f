export type Value = string | number | boolean | null;

/** One command with its values; `Row` is the shape of the rows that it answers with. */
export interface Statement<Row = unknown> {
  readonly text: string;
  readonly values: readonly Value[];
  /** How long to wait for its answer, where that is not as long as for others. */
  readonly timeoutMs?: number;
  /** The name of a statement without values that may be prepared; the end of the name of a statement with values. */
  readonly name?: string;
  /** For the compiler only. */
  readonly row?: Row;
}

export function statement<Row = unknown>(text: string, ...values: readonly Value[]): Statement<Row> {
  return { text, values };
}

/** The values of one column, in the order of the rows, and its type in the server. */
export type Column = readonly [type: string, values: readonly Value[]];

/**
 * A statement over rows: `{n}` in the text is the column `n`, whose parameters follow the first values. One row is sent
 * as plain values, which cost server and driver least; several rows are sent as arrays, so that the text does not
 * depend on their number.
 */
export function rowsStatement<Row = unknown>(
  text: string,
  first: readonly Value[],
  columns: readonly Column[],
): Statement<Row> {
  const isOne = columns[0]?.[1].length === 1;
  const values = columns.map(([, column]) => (isOne ? (column[0] ?? null) : arrayOf(column)));
  const known = isOne ? oneRow : manyRows;
  let filled = known.get(text);
  if (filled === undefined) {
    filled = text.replace(/\{(\d+)\}/g, (_, number) => {
      const [type] = columns[Number(number)] ?? ['text'];
      const place = `$${first.length + Number(number) + 1}::${type}`;
      return isOne ? place : `unnest(${place}[])`;
    });
    known.set(text, filled);
  }
  return statement<Row>(filled, ...first, ...values);
}

/** Stands in the text of a write for the condition under which it is made. */
export const CONDITION = '{if}';

/** Each statement with its condition filled in. The texts are few, and made once. */
export function onCondition<Row>(each: Statement<Row>, condition: string): Statement<Row> {
  const known = filledBy.get(condition) ?? new Map<string, string>();
  filledBy.set(condition, known);
  let text = known.get(each.text);
  if (text === undefined) {
    text = each.text.replaceAll(CONDITION, condition);
    known.set(each.text, text);
  }
  return { ...each, text };
}

const filledBy = new Map<string, Map<string, string>>();
const oneRow = new Map<string, string>();
const manyRows = new Map<string, string>();

/** An array in the server's notation. Made before anything is sent, so that a COMMIT never follows a write that failed here. */
export function arrayOf(values: readonly Value[]): string {
  return `{${values.map(elementOf).join(',')}}`;
}

function elementOf(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return String(value);
  // JSON quotes as an array does, in a fraction of the time; it writes control characters and halves of pairs in another way.
  if (value.isWellFormed() && !/[^ -\uffff]/.test(value)) return JSON.stringify(value);
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Set explicitly: stricter levels would fail reads, and every rule here is written for this one. */
export const BEGIN = named('BEGIN', 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
export const COMMIT = named('COMMIT', 'COMMIT');
/**
 * Without a name on purpose, so that it and the statements beside it are no batch. A batch parses its new statements before it
 * executes the first, and parsing reads: the snapshot would then be older than the transaction.
 */
export const SNAPSHOT = statement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');

function named(name: string, text: string): Statement {
  return { text, values: [], name };
}
