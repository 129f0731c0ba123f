import type { Connection } from './connection.ts';
import { BEGIN, statement } from './statement.ts';

/**
 * Deletes a bounded part of the search tables' rows of a space, within the caller's transaction. False when nothing is
 * left. It deletes last the row by which sweeps find the remains.
 */
export async function sweepSearches(connection: Connection, space: number, rows: number): Promise<boolean> {
  const deleteFrom = (table: string) =>
    statement(`DELETE FROM {${table}} WHERE space = ? LIMIT ${rows}`, space);
  const [entries, terms, found] = await connection.send(
    deleteFrom('search_entries'),
    deleteFrom('search_terms'),
    statement<{ number: number }>('SELECT number FROM {search_slots} WHERE space = ? LIMIT 1', space),
  );
  const slot = found.rows[0]?.number;
  if (slot !== undefined) {
    const [vectors] = await connection.send(
      statement(`DELETE FROM {search_vectors} WHERE slot = ? LIMIT ${rows}`, slot),
    );
    if (vectors.matched === 0) {
      await connection.send(statement('DELETE FROM {search_slots} WHERE number = ?', slot));
    }
    return true;
  }
  if (entries.matched + terms.matched > 0) return true;
  await connection.send(statement('DELETE FROM {search_spaces} WHERE space = ?', space));
  return false;
}

/** Deletes a part of the search rows of a space that the previous release swept. False when there is no such space. */
export async function sweepRemains(connection: Connection, rows: number): Promise<boolean> {
  const [found] = await connection.send(
    statement<{ space: number }>(
      `SELECT x.space FROM {search_spaces} AS x LEFT JOIN {spaces} AS s ON s.space = x.space
        WHERE s.space IS NULL LIMIT 1`,
    ),
  );
  const space = found.rows[0]?.space;
  if (space === undefined) return false;
  await connection.send(BEGIN);
  await sweepSearches(connection, space, rows);
  await connection.commit();
  return true;
}
