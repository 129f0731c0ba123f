import type { KeyRequest, RecordKey, RecordView, Scope } from '../port.ts';
import type { StatementAnswer } from './connection.ts';
import { StatementError } from './errors.ts';
import { nameOf, type RecordRow, smallColumns, widestViews } from './rows.ts';
import { Sql, type Statement } from './statement.ts';

/** Keys of one statement; a call with more locks before it reads. */
export const keysMax = 100;

type LiveRow = { readonly live: number } & (RecordRow | { readonly id: null });

/** The records of some keys and the live space of their scope, as of one moment: one statement, in a transaction of its own. */
export interface UnlockedReading {
  /** `undefined` where nothing was ever written. */
  readonly space: number | undefined;
  readonly rows: ReadonlyMap<string, RecordRow>;
}

export function unlockedStatement(scope: Scope, keys: readonly KeyRequest[]): Statement<LiveRow> {
  const sql = new Sql().add(
    `SELECT s.space AS live, ${smallColumns}, IF(k.wide, r.body, NULL) AS body FROM {scopes} AS s STRAIGHT_JOIN (`,
  );
  const asked = [...widestViews(keys).values()];
  for (const [index, { key, view }] of asked.entries()) {
    const names = index === 0 ? '? AS collection, ? AS id, ? AS wide' : '?, ?, ?';
    const wide = view === 'head' ? 0 : 1;
    sql.add(`${index === 0 ? '' : 'UNION ALL '}SELECT ${names}`, key.collection, key.id, wide);
  }
  sql.add(') AS k LEFT JOIN {records} AS r FORCE INDEX (PRIMARY)');
  sql.add('ON r.space = s.space AND r.collection = k.collection AND r.id = k.id');
  return sql.add('WHERE s.kind = ? AND s.name = ?', scope.kind, scope.name);
}

export function unlockedRows({ rows }: StatementAnswer<LiveRow>): UnlockedReading {
  const found = rows.filter((row): row is { live: number } & RecordRow => row.id !== null);
  return { space: rows[0]?.live, rows: new Map(found.map((row) => [nameOf(row), row])) };
}

/** The reads that a decision depends on. */
export interface Reliance extends UnlockedReading {
  readonly scope: Scope;
  /** Guarded keys, each once. */
  readonly keys: readonly { readonly key: RecordKey; readonly view: RecordView }[];
}

/** Bytes of the check, which sends all values that the decision read. */
export function seenBytes({ rows, keys }: Pick<Reliance, 'rows' | 'keys'>): number {
  return keys.reduce((sum, { key, view }) => {
    const row = rows.get(nameOf(key));
    if (row === undefined) return sum;
    return sum + row.head.length + (row.indexes?.length ?? 0) + (view === 'head' ? 0 : row.body_bytes);
  }, 0);
}

/** SUBQUERY_NO_1_ROW */
const refused = 1242;

/** The scope or a record was not as it was read, and nothing was written. */
export function isRefused(error: unknown): boolean {
  return error instanceof StatementError && error.number === refused;
}

/**
 * Behind the lock of the scope: refused where the scope or a record is not as it was read, and then the server passes over the rest of
 * the packet. A record is compared by all that a decision or its writes use. Where all is as it was, only the first row is left;
 * a value of two rows fails in every mode of the server, and nothing is written by it.
 */
export function keptStatement({ scope, space, rows, keys }: Reliance): Statement {
  const sql = new Sql().add(
    'SELECT (SELECT 1 UNION ALL SELECT 1 FROM {scopes} WHERE kind = ? AND name = ?',
    scope.kind,
    scope.name,
  );
  sql.add('AND NOT (space = ?', space ?? null);
  for (const { key, view } of keys) {
    const row = rows.get(nameOf(key));
    sql.add(`AND ${row === undefined ? 'NOT ' : ''}EXISTS (SELECT 1 FROM {records} AS r`);
    sql.add('WHERE r.space = ? AND r.collection = ? AND r.id = ?', space ?? null, key.collection, key.id);
    if (row !== undefined) addValues(sql, row, view);
    sql.add(')');
  }
  return sql.add(')) AS kept');
}

function addValues(sql: Sql, row: RecordRow, view: RecordView): void {
  const { head, due, listing_group, listing_id, hidden, indexes, parts, body_bytes, part_bytes } = row;
  sql.add('AND r.head = ? AND r.due <=> ? AND r.listing_group <=> ?', head, due, listing_group);
  sql.add('AND r.listing_id = ? AND r.hidden = ? AND r.indexes <=> ?', listing_id, hidden, indexes);
  sql.add('AND r.parts = ? AND r.body_bytes = ? AND r.part_bytes = ?', parts, body_bytes, part_bytes);
  if (view !== 'head') sql.add('AND r.body <=> ?', row.body ?? null);
}
