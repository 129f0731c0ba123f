import type { RecordData, ScanPage, ScanRequest, Scope } from '../port.ts';
import { type Connection } from './connection.ts';
import { columns, liveSpace, partBodies, type RecordRow, recordOf, sizeOf } from './rows.ts';
import { SNAPSHOT, statement } from './statement.ts';

/** A page ends early at this many bytes, so that memory stays limited with large bodies. */
const pageBytesMax = 8 * 1024 * 1024;

/** How long a reader may take over one page: the open snapshot keeps the server from removing old rows of all tables. */
const pageTimeoutMs = 10 * 60_000;

const patient = statement(`SET LOCAL idle_in_transaction_session_timeout = ${pageTimeoutMs}`);

const selectPage = `
  SELECT ${columns}, r.body, ${partBodies} AS part_bodies, r.bytes FROM (
    SELECT r.*, sum(${sizeOf}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes FROM (
      SELECT r.* FROM records AS r WHERE r.space = ${liveSpace} AND r.collection = $3 AND r.id > $4
      ORDER BY r.id LIMIT $5
    ) AS r
  ) AS r WHERE r.bytes - (${sizeOf}) < ${pageBytesMax} ORDER BY r.id`;

/** Reads one moment on a connection of its own in one transaction; leaving the loop ends it. */
export async function* scanRecords(
  open: () => Promise<Connection>,
  scope: Scope,
  request: ScanRequest,
): AsyncGenerator<ScanPage, void, undefined> {
  if (request.resume !== undefined) throw new Error('a PostgreSQL scan cannot be resumed');
  const connection = await open();
  try {
    await connection.send(SNAPSHOT, patient);
    // Collection names are words of the domain in ASCII, whose order is the same in bytes and in code units.
    for (const collection of [...new Set(request.collections)].sort()) {
      yield* pagesOf(connection, scope, collection, request.pageSize);
    }
  } finally {
    await connection.rollback();
    connection.release();
  }
}

async function* pagesOf(
  connection: Connection,
  scope: Scope,
  collection: string,
  pageSize: number,
): AsyncGenerator<ScanPage, void, undefined> {
  let after = '';
  for (;;) {
    const [rows] = await connection.send(
      statement<RecordRow & { bytes: string }>(
        selectPage,
        scope.kind,
        scope.name,
        collection,
        after,
        pageSize,
      ),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield { records: rows.map((row): RecordData => recordOf(row, 'parts')), resume: null };
    if (rows.length < pageSize && Number(last.bytes) < pageBytesMax) return;
    after = last.id;
  }
}
