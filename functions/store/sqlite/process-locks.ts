import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './errors.ts';
import { makePrivateFile, privateFolderMode } from './private-files.ts';

const SUFFIX = '.lock';
const TRIES = 3;

/** Kept referenced until the process ends: a garbage-collected handle would release its lock. */
const held = new Set<DatabaseSync>();

/**
 * Shows other processes on the same database that this one lives. Each holds a file beside the database locked, under a
 * name of its own. The operating system releases the lock when the process ends, even when it is killed, and every process
 * that shares the folder sees this, also from another container. SQLite's own locks are used since they hold within one
 * process too.
 */
export class ProcessLocks {
  readonly #folder: string;
  readonly #prefix: string;

  /** `databasePath` may be a link: the locks lie beside the file itself, as SQLite's own files do. */
  constructor(databasePath: string) {
    mkdirSync(dirname(databasePath), { recursive: true, mode: privateFolderMode });
    const real = existsSync(databasePath)
      ? realpathSync(databasePath)
      : join(realpathSync(dirname(databasePath)), basename(databasePath));
    this.#folder = dirname(real);
    this.#prefix = `${basename(real)}.`;
  }

  /** Shows from now on that `name` lives; the returned function ends it. Each name is unique and never used again. */
  hold(name: string): () => void {
    const path = this.#pathOf(name);
    for (let tries = 1; ; tries += 1) {
      const lock = locked(path, 1_000);
      // Another process that cleans up may have removed the file before this lock was taken.
      if (lock !== null && existsSync(path)) {
        held.add(lock);
        return () => {
          held.delete(lock);
          removed(path, lock);
        };
      }
      lock?.close();
      if (tries >= TRIES) throw new Error('a file beside the database cannot be locked');
    }
  }

  /** Whether the process that held this name has ended. `false` where this cannot be found out. */
  isGone(name: string): boolean {
    const path = this.#pathOf(name);
    if (!existsSync(path)) return true;
    try {
      const lock = locked(path, 0);
      if (lock === null) return false;
      removed(path, lock);
      return true;
    } catch {
      return false;
    }
  }

  /** Removes the files of killed processes. */
  sweep(isName: (name: string) => boolean): void {
    for (const file of readdirSync(this.#folder)) {
      if (!file.startsWith(this.#prefix) || !file.endsWith(SUFFIX)) continue;
      const name = file.slice(this.#prefix.length, -SUFFIX.length);
      if (isName(name)) this.isGone(name);
    }
  }

  #pathOf(name: string): string {
    return join(this.#folder, `${this.#prefix}${name}${SUFFIX}`);
  }
}

/**
 * `null` while another connection holds the lock. The lock writes nothing, so the file stays empty and gets no journal
 * beside it.
 */
function locked(path: string, timeoutMs: number): DatabaseSync | null {
  makePrivateFile(path);
  const lock = new DatabaseSync(path, { timeout: timeoutMs });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Under the lock, so that no other process treats the file as one in use. */
function removed(path: string, lock: DatabaseSync): void {
  try {
    rmSync(path, { force: true });
  } finally {
    lock.close();
  }
}
