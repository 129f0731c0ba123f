import { setImmediate as turn } from 'node:timers/promises';
import type { RecordData, ScanPage, ScanRequest, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';
import { columns, type RecordRow, recordOf } from './rows.ts';
import { liveSpace } from './space.ts';

/** A page is read in one turn of the event loop, in some 5 ms. With large bodies it ends early, once it holds this many characters. */
const pageCharactersMax = 512 * 1024;

/**
 * Reads one moment on a connection of its own in one read transaction. The write-ahead log cannot be reused while the
 * transaction is open, so an abandoned scan must end: leaving the loop ends it.
 */
export async function* scanRecords(
  open: () => Promise<Connection>,
  scope: Scope,
  request: ScanRequest,
): AsyncGenerator<ScanPage, void, undefined> {
  if (request.resume !== undefined) throw new Error('a SQLite scan cannot be resumed');
  const connection = await open();
  try {
    connection.run('BEGIN');
    for (const records of pages(connection, scope, request)) {
      // Reading is synchronous and uses a turn of the event loop alone: other work gets a turn before and after it.
      await turn();
      yield { records, resume: null };
      await turn();
    }
  } catch (error) {
    throw asStoreError(error);
  } finally {
    connection.close();
  }
}

function* pages(connection: Connection, scope: Scope, request: ScanRequest): Generator<RecordData[]> {
  let page: RecordData[] = [];
  let characters = 0;
  for (const record of recordsOf(connection, scope, request.collections)) {
    page.push(record);
    characters += sizeOf(record);
    if (page.length < request.pageSize && characters < pageCharactersMax) continue;
    yield page;
    page = [];
    characters = 0;
  }
  if (page.length > 0) yield page;
}

function* recordsOf(
  connection: Connection,
  scope: Scope,
  collections: readonly string[],
): Generator<RecordData> {
  const space = liveSpace(connection, scope);
  if (space === undefined) return;
  const sql = `SELECT ${columns} FROM records WHERE space = ? AND collection = ? ORDER BY id`;
  // Collection names are words of the domain in ASCII, whose order is the same in bytes and in code units.
  for (const collection of [...new Set(collections)].sort()) {
    for (const row of connection.iterate<RecordRow>(sql, space, collection)) {
      yield recordOf(connection, space, row, 'parts');
    }
  }
}

function sizeOf(record: RecordData): number {
  let size = record.body?.length ?? 0;
  for (const part of record.parts ?? []) size += part.body.length;
  return size;
}
