import { type Connection } from './connection.ts';
import { deadMax } from './search-schema.ts';
import { BEGIN, type Statement, statement } from './statement.ts';

/**
 * The most tombstones that one trim deletes: half of those at which it starts, so that readers rarely have to start
 * again.
 */
const trimmedMax = deadMax / 2;

/**
 * A slot with too many tombstones, or without vectors; the sweep skips a slot that another call has locked, so that it
 * never waits.
 */
const takeSlot = `SELECT set_config('svc.slot', coalesce((
  SELECT s.number::text FROM search_slots AS s WHERE s.live = 0 OR s.dead > ${deadMax} LIMIT 1 FOR UPDATE SKIP LOCKED
), ''), true) AS slot`;

/** In a statement after the lock, so that it sees every row that was written before. */
const trimSlot = `
  WITH s AS MATERIALIZED (
    SELECT s.number, s.live FROM search_slots AS s WHERE s.number = nullif(current_setting('svc.slot', true), '')::bigint
  ), gone AS (
    DELETE FROM search_vectors WHERE ctid = ANY (ARRAY(
      SELECT x.place FROM s CROSS JOIN LATERAL (
        SELECT x.ctid AS place FROM search_vectors AS x WHERE x.slot = s.number AND x.vector IS NULL
        ORDER BY x.version LIMIT ${trimmedMax}
      ) AS x
    )) RETURNING version
  ), sums AS MATERIALIZED (
    SELECT count(*) = ${trimmedMax} AS more, coalesce(max(version), 0) AS trimmed FROM gone
  ), ended AS (
    DELETE FROM search_slots WHERE number = (SELECT s.number FROM s CROSS JOIN sums WHERE s.live = 0 AND NOT sums.more)
  )
  UPDATE search_slots AS t SET trimmed = greatest(t.trimmed, sums.trimmed),
    dead = CASE WHEN sums.more THEN t.dead - ${trimmedMax} ELSE 0 END
  FROM s CROSS JOIN sums WHERE t.number = s.number AND (s.live <> 0 OR sums.more)`;

/** Travels with writes that make tombstones, so that these stay bounded. */
export const trim: readonly Statement[] = [
  { ...statement(takeSlot), name: 'take_slot' },
  { ...statement(trimSlot), name: 'trim_slot' },
];

/** Deletes tombstones, a slot at a time. False when none are left, or other processes sweep them. */
export async function trimOnce(connection: Connection): Promise<boolean> {
  const [, [taken]] = await connection.send(BEGIN, statement<{ slot: string }>(takeSlot));
  if (taken?.slot === '') {
    await connection.rollback();
    return false;
  }
  await connection.commit(statement(trimSlot));
  return true;
}

/**
 * Deletes a bounded part of a space's search rows. It deletes the entries last, because sweeps find the remains by
 * them.
 */
export function sweepSearches(space: string, rowsMax: number): Statement[] {
  const vectors = `DELETE FROM search_vectors WHERE ctid = ANY (ARRAY(
    SELECT x.place FROM search_slots AS s CROSS JOIN LATERAL (
      SELECT x.ctid AS place FROM search_vectors AS x WHERE x.slot = s.number LIMIT $2
    ) AS x WHERE s.space = $1 LIMIT $2)) RETURNING 1`;
  const slots = `DELETE FROM search_slots WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM search_slots AS s WHERE s.space = $1
      AND (SELECT x.slot FROM search_vectors AS x WHERE x.slot = s.number LIMIT 1) IS NULL LIMIT $2)) RETURNING 1`;
  const entries = `DELETE FROM search_entries WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM search_entries AS e WHERE e.space = $1
      AND (SELECT s.space FROM search_slots AS s WHERE s.space = $1 LIMIT 1) IS NULL LIMIT $2)) RETURNING 1`;
  return [vectors, slots, entries].map((text) => statement(text, space, rowsMax));
}

/** The previous release sweeps spaces without their search rows. Checks once for each space with entries. */
const findRemains = `
  WITH RECURSIVE walk AS (
    SELECT (SELECT min(e.space) FROM search_entries AS e) AS space
    UNION ALL
    SELECT (SELECT min(e.space) FROM search_entries AS e WHERE e.space > w.space) FROM walk AS w
    WHERE w.space IS NOT NULL
  )
  SELECT w.space FROM walk AS w WHERE w.space IS NOT NULL
    AND (SELECT s.space FROM spaces AS s WHERE s.space = w.space) IS NULL LIMIT 1`;

/** Deletes search entries of a deleted space. False when there are none. */
export async function sweepRemains(connection: Connection, rowsMax: number): Promise<boolean> {
  const [[found]] = await connection.send(statement<{ space: string }>(findRemains));
  if (found === undefined) return false;
  await connection.commit(BEGIN, ...sweepSearches(found.space, rowsMax));
  return true;
}
