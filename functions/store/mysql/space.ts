import type { Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { isCreatedTwice } from './errors.ts';
import { sweepSearches } from './search-sweep.ts';
import { BEGIN, COMMIT, ROLLBACK, type Statement, statement } from './statement.ts';

/**
 * Serializes all changes of the scope: the holder of its one row works alone and reads the state of the previous
 * holder. Returns the live space; a scope without a row is empty, and nothing is locked.
 */
export function lockScope({ kind, name }: Scope): Statement<{ space: number }> {
  return statement('SELECT space FROM {scopes} WHERE kind = ? AND name = ? FOR UPDATE', kind, name);
}

/** Makes the row that is locked, with an empty space; of several that try at once, one does. */
export async function createScope(connection: Connection, scope: Scope, now: number): Promise<void> {
  try {
    await connection.send(
      BEGIN,
      insertSpace(scope, 'live', now),
      statement(
        'INSERT INTO {scopes} (kind, name, space) VALUES (?, ?, LAST_INSERT_ID())',
        scope.kind,
        scope.name,
      ),
      COMMIT,
    );
  } catch (error) {
    if (!isCreatedTwice(error)) throw error;
    await connection.send(ROLLBACK);
  }
}

/** A hidden space: readers see it once it is made live. */
export async function createLoading(connection: Connection, scope: Scope, now: number): Promise<number> {
  const [inserted] = await connection.send(insertSpace(scope, 'loading', now));
  return inserted.insertId;
}

function insertSpace({ kind, name }: Scope, state: 'live' | 'loading', now: number): Statement {
  const sql = 'INSERT INTO {spaces} (kind, name, state, touched_ms) VALUES (?, ?, ?, ?)';
  return statement(sql, kind, name, state, now);
}

/**
 * Shows other processes that the load continues, and keeps the sweep away until the transaction ends. Matches no row
 * after a sweep.
 */
export function touchLoading(space: number, now: number): Statement {
  return statement(`UPDATE {spaces} SET touched_ms = ? WHERE space = ? AND state = 'loading'`, now, space);
}

/** Abandons a load; a space that became live after all (a commit with a lost answer) stays. */
export function abandonLoading(space: number, now: number): Statement {
  const sql = `UPDATE {spaces} SET state = 'retired', touched_ms = ? WHERE space = ? AND state = 'loading'`;
  return statement(sql, now, space);
}

/** Matches no row when the load was swept. */
export function makeLive(space: number, now: number): Statement {
  const sql = `UPDATE {spaces} SET state = 'live', touched_ms = ? WHERE space = ? AND state = 'loading'`;
  return statement(sql, now, space);
}

export function pointTo({ kind, name }: Scope, space: number): Statement {
  return statement('UPDATE {scopes} SET space = ? WHERE kind = ? AND name = ?', space, kind, name);
}

export function retire(space: number, now: number): Statement {
  return statement(`UPDATE {spaces} SET state = 'retired', touched_ms = ? WHERE space = ?`, now, space);
}

interface SweepBounds {
  readonly abandonedBefore: number;
  readonly rows: number;
  /** Whether the tables of searches exist. */
  readonly searched: boolean;
}

/**
 * Deletes at most `rows` of each table from one space that was retired, or whose load has not written since
 * `abandonedBefore`. False when there is no such space, or other processes sweep it.
 */
export async function sweepSome(
  connection: Connection,
  { abandonedBefore, rows, searched }: SweepBounds,
): Promise<boolean> {
  const [found] = await connection.send(
    statement<{ space: number }>(
      `SELECT space FROM {spaces} WHERE state = 'retired' OR (state = 'loading' AND touched_ms < ?)
        ORDER BY space LIMIT 1`,
      abandonedBefore,
    ),
  );
  const space = found.rows[0]?.space;
  if (space === undefined) return false;
  // Checked again under the lock, because the load may have written meanwhile, or be about to become live.
  const [, locked] = await connection.send(
    BEGIN,
    statement<{ space: number }>(
      `SELECT space FROM {spaces} WHERE space = ? AND (state = 'retired' OR (state = 'loading' AND touched_ms < ?))
        FOR UPDATE SKIP LOCKED`,
      space,
      abandonedBefore,
    ),
  );
  if (locked.rows.length === 0) {
    connection.leave();
    return false;
  }
  const deleteFrom = (table: string) =>
    statement(`DELETE FROM {${table}} WHERE space = ? LIMIT ${rows}`, space);
  const [, ...deleted] = await connection.send(
    retire(space, 0),
    deleteFrom('records'),
    deleteFrom('entries'),
    deleteFrom('parts'),
  );
  const left = searched && (await sweepSearches(connection, space, rows));
  const gone = !left && deleted.every(({ matched }) => matched === 0);
  await connection.commit(...(gone ? [deleteFrom('spaces')] : []));
  return true;
}
