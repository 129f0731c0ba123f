import { StoreError, type StoreFailure } from '../port.ts';

/** Primary result codes, https://www.sqlite.org/rescode.html; the low byte of an extended code. */
const failures: Readonly<Record<number, StoreFailure>> = {
  5: 'contention', // BUSY
  6: 'contention', // LOCKED
  11: 'corrupt', // CORRUPT
  13: 'full', // FULL
  18: 'too_large', // TOOBIG
  19: 'corrupt', // CONSTRAINT: two records claim one place, which the domain rules out
  26: 'corrupt', // NOTADB
};

/**
 * IOERR_SHMSIZE. In a write it may occur after the commit has reached the log, so the outcome of the write is unknown.
 */
const SHARED_FILE_SIZE = 4874;

/** In a file that an earlier release wrote last, and that is only read: all but its searches can be read, so opening does not ask. */
const SEARCHES_MISSING = /^no such table: (?:main\.)?search_/;

/** Translates an error of SQLite into an error of the port; other errors, such as a decision's refusal, pass unchanged. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  const code = sqliteCode(error);
  if (code !== undefined) {
    const message = SEARCHES_MISSING.test(error.message)
      ? 'the database has not the tables of searches that this release reads: start the service once, which makes them'
      : `SQLite: ${error.message}`;
    return new StoreError(failures[code] ?? 'unavailable', message, { cause: error });
  }
  if (isClosed(error)) return closedError(error);
  return error;
}

/** As above, of an error in opening: where the disk has no room for the file of 32 KB that processes share. */
export function asOpenError(error: unknown): unknown {
  if (error instanceof Error && extendedCode(error) === SHARED_FILE_SIZE) {
    const message = 'the disk is full: no room for the 32 KB that an open database keeps in a file beside it';
    return new StoreError('full', message, { cause: error });
  }
  return asStoreError(error);
}

export function isBusy(error: unknown): boolean {
  const code = error instanceof Error ? sqliteCode(error) : undefined;
  return code === 5 || code === 6;
}

export function closedError(cause?: unknown): StoreError {
  return new StoreError('unavailable', 'the SQLite store is closed', { cause });
}

function sqliteCode(error: Error): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: Error): number | undefined {
  if (!('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined;
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 1;
}

function isClosed(error: Error): boolean {
  return (
    'code' in error &&
    error.code === 'ERR_INVALID_STATE' &&
    /database is not open|statement has been finalized/.test(error.message)
  );
}
