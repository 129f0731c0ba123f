import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Connection } from './connection.ts';

/**
 * The address by which a database is read so that no file beside it is made or changed. SQLite otherwise makes the two files
 * of the write-ahead log for a database in that mode, and a reader cannot remove them.
 *
 * Without a log no process has the database open for writing, and the file is taken for one that does not change. With a log
 * its shared file is only read: where no process lives that keeps it, SQLite indexes the log in memory. A log without that
 * file is for the caller to avoid: SQLite makes the file, and it stays (cli/look.ts copies the pair).
 */
export function readingAddress(path: string): URL {
  const real = existsSync(path) ? realpathSync(path) : path;
  const address = pathToFileURL(real);
  const beside = (suffix: string) => existsSync(`${real}${suffix}`);
  if (!beside('-wal') && !beside('-journal')) address.searchParams.set('immutable', '1');
  else if (beside('-shm')) address.searchParams.set('readonly_shm', '1');
  return address;
}

/**
 * Whether pages that are read from now on may be of two moments. A file without a log is read without locks: a server that
 * starts writes to it, and one that stops cleanly leaves no log that would show it. A log that stays from the beginning to
 * the end keeps the reader apart from writers.
 */
export class FileWatch {
  readonly #path: string;
  readonly #file: string;
  readonly #log: string;

  constructor(path: string) {
    this.#path = existsSync(path) ? realpathSync(path) : path;
    this.#file = stateOf(this.#path);
    this.#log = logOf(this.#path);
  }

  get changed(): boolean {
    // The log first: a process that closes the database writes to the file before it removes the log.
    const log = logOf(this.#path);
    if (log !== this.#log) return true;
    return log === '' && stateOf(this.#path) !== this.#file;
  }
}

/** The log's identity: a new one may get the number of the file that was removed. */
function logOf(path: string): string {
  const found = statSync(`${path}-wal`, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.birthtimeNs}`;
}

/** Size, time and the change counter of the header, https://www.sqlite.org/fileformat2.html#file_change_counter */
function stateOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs} ${changeCounter(path)}`;
}

const counterAt = 24;

function changeCounter(path: string): number {
  const counter = Buffer.alloc(4);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, counter, { position: counterAt });
    } finally {
      closeSync(file);
    }
  } catch {
    // Opening the database reports a file that cannot be read.
  }
  return counter.readUInt32BE();
}

/** Opens a database that must not change. The first statement reads the file. */
export function openToRead(path: string, timeoutMs: number): DatabaseSync {
  return new DatabaseSync(readingAddress(path), { readOnly: true, timeout: timeoutMs });
}

export function connectToRead(path: string, busyTimeoutMs: number): Connection {
  return new Connection(readingAddress(path), { readOnly: true, busyTimeoutMs });
}
