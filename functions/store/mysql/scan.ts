import type { RecordData, ScanPage, ScanRequest, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import type { Pool } from './pool.ts';
import { columns, nameOf, type PartRow, type RecordRow, recordOf } from './rows.ts';
import { SNAPSHOT, statement } from './statement.ts';

/** A page ends early once it holds this many bytes, so that memory stays flat with large bodies. */
const pageBytesMax = 8 * 1024 * 1024;

/**
 * Reads one moment in one snapshot on a connection of its own. The server keeps overwritten rows for the snapshot, so
 * an abandoned scan must end: leaving the loop ends it, and so does a long silence of the reader.
 */
export async function* scanRecords(
  open: () => Promise<Pool>,
  scope: Scope,
  request: ScanRequest,
): AsyncGenerator<ScanPage, void, undefined> {
  if (request.resume !== undefined) throw new Error('a MySQL scan cannot be resumed');
  const pool = await open();
  const connection = await pool.acquire();
  // The server ends a scan that its reader has abandoned; the scan must free its place in the pool.
  connection.onEnd = () => pool.release(connection);
  try {
    yield* pages(connection, scope, request);
  } finally {
    connection.onEnd = () => undefined;
    await connection.rollback();
    pool.release(connection);
  }
}

async function* pages(
  connection: Connection,
  { kind, name }: Scope,
  { collections, pageSize }: ScanRequest,
): AsyncGenerator<ScanPage, void, undefined> {
  const live = statement<{ space: number }>(
    'SELECT space FROM {scopes} WHERE kind = ? AND name = ?',
    kind,
    name,
  );
  const [, , { rows }] = await connection.send(...SNAPSHOT, live);
  const space = rows[0]?.space;
  if (space === undefined) return;
  // Collection names are words of the domain in ASCII, whose order is the same in bytes and in code units.
  for (const collection of [...new Set(collections)].sort()) {
    for (let after = ''; ; ) {
      const page = await pageAfter(connection, { space, collection, after, pageSize });
      const last = page.at(-1);
      if (last === undefined) break;
      yield { records: page, resume: null };
      after = last.key.id;
    }
  }
}

interface PlaceInScan {
  readonly space: number;
  readonly collection: string;
  readonly after: string;
  readonly pageSize: number;
}

async function pageAfter(
  connection: Connection,
  { space, collection, after, pageSize }: PlaceInScan,
): Promise<RecordData[]> {
  const [sizes] = await connection.send(
    statement<{ id: string; bytes: number }>(
      `SELECT id, body_bytes + part_bytes AS bytes FROM {records} FORCE INDEX (PRIMARY)
        WHERE space = ? AND collection = ? AND id > ? ORDER BY id LIMIT ?`,
      space,
      collection,
      after,
      pageSize,
    ),
  );
  let bytes = 0;
  let last: string | undefined;
  for (const row of sizes.rows) {
    bytes += row.bytes;
    if (last !== undefined && bytes > pageBytesMax) break;
    last = row.id;
  }
  if (last === undefined) return [];
  const between = [space, collection, after, last] as const;
  const [records, parts] = await connection.send(
    statement<RecordRow>(
      `SELECT ${columns} FROM {records} AS r FORCE INDEX (PRIMARY)
        WHERE r.space = ? AND r.collection = ? AND r.id > ? AND r.id <= ? ORDER BY r.id`,
      ...between,
    ),
    statement<PartRow>(
      `SELECT p.collection, p.id, p.filed_under, p.part_order, p.body
        FROM {parts} AS p FORCE INDEX (parts_by_record)
        WHERE p.space = ? AND p.collection = ? AND p.id > ? AND p.id <= ? ORDER BY p.id, p.position`,
      ...between,
    ),
  );
  const filed = Map.groupBy(parts.rows, nameOf);
  return records.rows.map((row) => recordOf(row, 'parts', filed.get(nameOf(row))));
}
