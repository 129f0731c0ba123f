import type { RecordKey, Scope } from '../port.ts';
import { type Connection } from './connection.ts';
import { sweepSearches } from './search-sweep.ts';
import type { Session } from './session.ts';
import { BEGIN, statement } from './statement.ts';

/** Held to the end of the transaction, so that the scope's space does not change during it. */
export function shareScope({ locks }: Session, scope: Scope) {
  return statement('SELECT pg_advisory_xact_lock_shared($1)', locks.scope(scope));
}

/** Also queues behind the rivals of the same intent. The locks are taken from left to right. */
export function shareScopeAndGate({ locks }: Session, scope: Scope, gate: RecordKey) {
  const text = 'SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2)';
  return statement(text, locks.scope(scope), locks.gate(scope, gate));
}

function holdScope({ locks }: Session, scope: Scope) {
  return statement('SELECT pg_advisory_xact_lock($1)', locks.scope(scope));
}

/** Creates the space of a scope without one. Rivals that do the same run one after the other. */
export async function ensureSpace(session: Session, connection: Connection, scope: Scope): Promise<void> {
  const create = `WITH made AS (
      INSERT INTO spaces (kind, name, state) SELECT $1::text, $2::text, 'live'
      WHERE NOT EXISTS (SELECT 1 FROM scopes AS s WHERE s.kind = $1 AND s.name = $2) RETURNING kind, name, space)
    INSERT INTO scopes (kind, name, space) SELECT kind, name, space FROM made`;
  await connection.commit(BEGIN, holdScope(session, scope), statement(create, scope.kind, scope.name));
}

export async function createLoading(connection: Connection, scope: Scope): Promise<string> {
  const create = `INSERT INTO spaces (kind, name, state) VALUES ($1, $2, 'loading') RETURNING space`;
  const [[made]] = await connection.send(statement<{ space: string }>(create, scope.kind, scope.name));
  if (made === undefined) throw new Error('an INSERT returned no row');
  return made.space;
}

/** Begins a transaction that marks the load as still running. False when the space is not loading any more. */
export async function beginLoading(connection: Connection, space: string): Promise<boolean> {
  const touch = `UPDATE spaces SET touched_at = now() WHERE space = $1 AND state = 'loading' RETURNING space`;
  const [, touched] = await connection.send(BEGIN, statement(touch, space));
  return touched.length === 1;
}

/** Abandons a load; a space that became live after all (a commit with a lost answer) stays. */
export async function abandonLoading(connection: Connection, space: string): Promise<void> {
  const retire = `UPDATE spaces SET state = 'retired', touched_at = now() WHERE space = $1 AND state = 'loading'`;
  await connection.send(statement(retire, space));
}

/**
 * Makes the loaded space live and retires the previous one, which open scans still see. Waits for the transactions
 * under way; later ones wait for it and see the new space. False when the load was abandoned.
 */
export async function flipTo(
  session: Session,
  connection: Connection,
  scope: Scope,
  space: string,
): Promise<boolean> {
  const check = `SELECT space FROM spaces WHERE space = $1 AND state = 'loading' FOR UPDATE`;
  const [, , loading] = await connection.send(BEGIN, holdScope(session, scope), statement(check, space));
  if (loading.length === 0) return false;
  const retire = `UPDATE spaces SET state = 'retired', touched_at = now()
    WHERE space = (SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2)`;
  const enliven = `UPDATE spaces SET state = 'live', touched_at = now() WHERE space = $1`;
  const point = `INSERT INTO scopes (kind, name, space) VALUES ($1, $2, $3)
    ON CONFLICT (kind, name) DO UPDATE SET space = excluded.space`;
  await connection.commit(
    statement(retire, scope.kind, scope.name),
    statement(enliven, space),
    statement(point, scope.kind, scope.name, space),
  );
  return true;
}

/** A load without a write for this time belongs to a process that died. */
const abandonedAfter = '1 hour';
export const rowsMax = 1_000;

/**
 * Deletes a bounded number of rows of one retired space, or of one whose load has not written for long, and the space
 * itself when it is empty. False when there is no such space, or other processes sweep it.
 */
export async function sweepOnce(connection: Connection, searched: boolean): Promise<boolean> {
  const pick = `SELECT space FROM spaces WHERE state <> 'live'
    AND (state = 'retired' OR touched_at < now() - interval '${abandonedAfter}')
    ORDER BY space LIMIT 1 FOR UPDATE SKIP LOCKED`;
  const [, [picked]] = await connection.send(BEGIN, statement<{ space: string }>(pick));
  if (picked === undefined) {
    await connection.rollback();
    return false;
  }
  const { space } = picked;
  const swept = await connection.send(
    statement(`UPDATE spaces SET state = 'retired' WHERE space = $1 AND state <> 'retired'`, space),
    ...['records', 'entries', 'parts'].map((table) => {
      const text = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE space = $1 LIMIT $2))
        RETURNING 1`;
      return statement(text, space, rowsMax);
    }),
    ...(searched ? sweepSearches(space, rowsMax) : []),
  );
  const left = swept.some((rows) => rows.length > 0);
  await connection.commit(...(left ? [] : [statement('DELETE FROM spaces WHERE space = $1', space)]));
  return true;
}
