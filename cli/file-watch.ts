import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';

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
