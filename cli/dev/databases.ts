import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../../functions/store/sqlite/errors.ts';

/** The first bytes of every database of SQLite. */
const HEADER = Buffer.from('SQLite format 3\0', 'latin1');

/**
 * Locks every database in the folder for this process alone, so that the folder can be removed. The returned function releases
 * them. `null` while another process has one open: a connection in the mode of a server holds a lock on its file also while it is
 * idle. Throws if a database can be neither locked nor found to be damaged.
 */
export function lockDatabases(folder: string): (() => void) | null {
  const locks: DatabaseSync[] = [];
  const release = () => {
    for (const lock of locks.splice(0)) lock.close();
  };
  try {
    for (const path of databasesIn(folder)) {
      const lock = new DatabaseSync(path, { timeout: 0 });
      locks.push(lock);
      lockAlone(lock);
    }
    return release;
  } catch (error) {
    release();
    if (isBusy(error)) return null;
    throw error;
  }
}

function lockAlone(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    // No server can run on a damaged file.
    if (!isDamage(error)) throw error;
  }
}

const CORRUPT = 11;
const NOT_A_DATABASE = 26;

function isDamage(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return code === CORRUPT || code === NOT_A_DATABASE;
}

function databasesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isDatabase);
}

function isDatabase(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(HEADER.length);
    return readSync(file, start) === HEADER.length && start.equals(HEADER);
  } finally {
    closeSync(file);
  }
}
