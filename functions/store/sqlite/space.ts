import type { Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { sweepSearches, sweptSpace } from './search-write.ts';

/** The space that holds the scope's records now; `undefined` until the first write. */
export function liveSpace(connection: Connection, scope: Scope): number | undefined {
  const sql = 'SELECT space FROM scopes WHERE kind = ? AND name = ?';
  return connection.get<{ space: number }>(sql, scope.kind, scope.name)?.space;
}

export function createLiveSpace(connection: Connection, scope: Scope, now: number): number {
  const space = createSpace(connection, scope, 'live', now);
  connection.run('INSERT INTO scopes (kind, name, space) VALUES (?, ?, ?)', scope.kind, scope.name, space);
  return space;
}

export function createSpace(
  connection: Connection,
  scope: Scope,
  state: 'live' | 'loading',
  now: number,
): number {
  const sql = 'INSERT INTO spaces (kind, name, state, touched_ms) VALUES (?, ?, ?, ?)';
  return connection.run(sql, scope.kind, scope.name, state, now).rowid;
}

/** Shows other processes that the load continues. False when the space is not loading any more. */
export function touchLoading(connection: Connection, space: number, now: number): boolean {
  const sql = `UPDATE spaces SET touched_ms = ? WHERE space = ? AND state = 'loading'`;
  return connection.run(sql, now, space).changes === 1;
}

function retireSpace(connection: Connection, space: number, now: number): void {
  connection.run(`UPDATE spaces SET state = 'retired', touched_ms = ? WHERE space = ?`, now, space);
}

/** Abandons a load; a space that became live after all (a commit with a lost answer) stays. */
export function abandonLoading(connection: Connection, space: number, now: number): void {
  const sql = `UPDATE spaces SET state = 'retired', touched_ms = ? WHERE space = ? AND state = 'loading'`;
  connection.run(sql, now, space);
}

/** Makes the loaded space the live one and retires the one before, which open scans still see. */
export function flipTo(connection: Connection, scope: Scope, space: number, now: number): void {
  const before = liveSpace(connection, scope);
  if (before !== undefined) retireSpace(connection, before, now);
  connection.run(`UPDATE spaces SET state = 'live', touched_ms = ? WHERE space = ?`, now, space);
  const sql = `INSERT INTO scopes (kind, name, space) VALUES (?, ?, ?)
    ON CONFLICT (kind, name) DO UPDATE SET space = excluded.space`;
  connection.run(sql, scope.kind, scope.name, space);
}

/** A retired space, or one whose load has not written since `abandonedBefore`. */
export function spaceToSweep(connection: Connection, abandonedBefore: number): number | undefined {
  const sql = `SELECT space FROM spaces
    WHERE state = 'retired' OR (state = 'loading' AND touched_ms < ?) ORDER BY space LIMIT 1`;
  return connection.get<{ space: number }>(sql, abandonedBefore)?.space ?? sweptSpace(connection);
}

/** Deletes at most `rows` of each table; true when all rows and the space itself are deleted. */
export function sweepSpace(connection: Connection, space: number, rows: number): boolean {
  retireSpace(connection, space, 0);
  const records = `DELETE FROM records WHERE record IN (SELECT record FROM records WHERE space = ? LIMIT ?)`;
  const parts = `DELETE FROM parts WHERE part IN (SELECT part FROM parts WHERE space = ? LIMIT ?)`;
  const entries = `DELETE FROM entries WHERE (space, collection, name, value, listing_group, listing_id) IN
    (SELECT space, collection, name, value, listing_group, listing_id FROM entries WHERE space = ? LIMIT ?)`;
  let deleted = 0;
  for (const sql of [records, parts, entries]) deleted += connection.run(sql, space, rows).changes;
  if (sweepSearches(connection, space, rows) || deleted > 0) return false;
  connection.run('DELETE FROM spaces WHERE space = ?', space);
  return true;
}
