import { existsSync, realpathSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Connection } from './connection.ts';

/**
 * The address that opens a database without creating or changing a file beside it. SQLite otherwise creates the two
 * files of the write-ahead log for a database in that mode, and a reader cannot remove them.
 *
 * Without a log no process has the database open for writing, and the file is opened as immutable. With a log its
 * shared file is only read: if no process keeps that file, SQLite indexes the log in memory. The caller must avoid a
 * log without that file: SQLite creates the file, and it stays (cli/look.ts copies the pair).
 */
function readingAddress(path: string): URL {
  const real = existsSync(path) ? realpathSync(path) : path;
  const address = pathToFileURL(real);
  const beside = (suffix: string) => existsSync(`${real}${suffix}`);
  if (!beside('-wal') && !beside('-journal')) address.searchParams.set('immutable', '1');
  else if (beside('-shm')) address.searchParams.set('readonly_shm', '1');
  return address;
}

/** Opens a database that must not change. The first statement reads the file. */
export function openToRead(path: string, timeoutMs: number): DatabaseSync {
  return new DatabaseSync(readingAddress(path), { readOnly: true, timeout: timeoutMs });
}

export function connectToRead(path: string, busyTimeoutMs: number): Connection {
  return new Connection(readingAddress(path), { readOnly: true, busyTimeoutMs });
}
