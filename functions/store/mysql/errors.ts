import { StoreError, type StoreFailure } from '../port.ts';

/** https://mariadb.com/docs/server/reference/error-codes and https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html */
const failures: Readonly<Record<number, StoreFailure>> = {
  1021: 'full', // DISK_FULL
  1034: 'corrupt', // NOT_KEYFILE
  1062: 'corrupt', // DUP_ENTRY: two records claim one place, which the domain rules out
  1114: 'full', // RECORD_FILE_FULL
  1118: 'too_large', // TOO_BIG_ROWSIZE
  1153: 'too_large', // NET_PACKET_TOO_LARGE
  1197: 'too_large', // TRANS_CACHE_FULL: more than the binary log takes in one transaction
  1205: 'contention', // LOCK_WAIT_TIMEOUT
  1213: 'contention', // LOCK_DEADLOCK; of a cluster also at COMMIT, where it means that nothing was written
  1406: 'too_large', // DATA_TOO_LONG
  1712: 'corrupt', // INDEX_CORRUPT
  1877: 'corrupt', // TABLE_CORRUPT
};

/** Wrong user or password, no such database, no right to it; a host that has no address. */
const misconfigured = new Set<string>([
  'ER_ACCESS_DENIED_ERROR',
  'ER_ACCESS_DENIED_NO_PASSWORD_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_BAD_DB_ERROR',
  'ENOTFOUND',
]);

const readOnly = new Set([
  1290, // OPTION_PREVENTS_STATEMENT
  1792, // CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  1836, // READ_ONLY_MODE
]);

const lostRaces = new Set([1205, 1213]);
const createdTwice = 1062;
const noSuchTable = 1146;
const generalFailure = 1030;
const forbidden = new Set([
  1044, // DBACCESS_DENIED_ERROR
  1142, // TABLEACCESS_DENIED_ERROR
]);

/**
 * An error of the server. Its message names the error by number and code alone: the server's text quotes values and
 * SQL, and the driver's error contains the whole statement, so neither is kept, not even as the cause.
 */
export class StatementError extends StoreError {
  /** `undefined` when the connection failed rather than the statement. */
  readonly number: number | undefined;
  /** Whether the session is still there, and may be used again after a ROLLBACK. */
  readonly sessionGoesOn: boolean;
  /** For the log, which keeps no message of an error: `ECONNREFUSED`, or `ER_ACCESS_DENIED_ERROR`. */
  readonly code: string;

  constructor(error: unknown) {
    const { number, code, fatal, message } = factsOf(error);
    const what = number === undefined ? `the connection failed: ${code}` : `error ${number} (${code})`;
    super(failureOf(number, message), `MySQL: ${what}`, { isMisconfigured: misconfigured.has(code) });
    this.number = number;
    this.code = code;
    // A demoted server still answers, but only another connection may reach its successor.
    this.sessionGoesOn = number !== undefined && !fatal && !readOnly.has(number);
  }
}

/** Nothing was written, and the next attempt sees the rival's writes. */
export function isLostRace(error: unknown): boolean {
  return error instanceof StatementError && error.number !== undefined && lostRaces.has(error.number);
}

export function isCreatedTwice(error: unknown): boolean {
  return error instanceof StatementError && error.number === createdTwice;
}

export function isNoSuchTable(error: unknown): boolean {
  return error instanceof StatementError && error.number === noSuchTable;
}

/** The account may not do this. */
export function isForbidden(error: unknown): boolean {
  return error instanceof StatementError && error.number !== undefined && forbidden.has(error.number);
}

export function closedError(): StoreError {
  return new StoreError('unavailable', 'the MySQL store is closed');
}

function failureOf(number: number | undefined, message: string): StoreFailure {
  // All failures of the storage engine have one number; 28 in the text is the system's "no space left".
  if (number === generalFailure) return /\berror 28\b/.test(message) ? 'full' : 'unavailable';
  return failures[number ?? 0] ?? 'unavailable';
}

/** Codes are words of the driver or the system, such as `ER_DUP_ENTRY` or `ECONNREFUSED`: they hold no value. */
function factsOf(error: unknown): {
  number: number | undefined;
  code: string;
  fatal: boolean;
  message: string;
} {
  const facts = (error instanceof Error ? error : {}) as {
    errno?: unknown;
    sqlState?: unknown;
    code?: unknown;
    fatal?: unknown;
    message?: string;
    errors?: unknown[];
  };
  // A refused connection to a name with several addresses has its code inside; the system's numbers are negative.
  const code = facts.code ?? (facts.errors?.[0] as { code?: unknown } | undefined)?.code;
  const ofServer = typeof facts.errno === 'number' && facts.errno > 0 && facts.sqlState !== undefined;
  return {
    number: ofServer ? (facts.errno as number) : undefined,
    code: typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : 'unknown',
    fatal: facts.fatal === true,
    message: facts.message ?? '',
  };
}
