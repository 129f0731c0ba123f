import { StoreError, type StoreFailure } from '../port.ts';

/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html; two characters for a whole class. */
const failures: Readonly<Record<string, StoreFailure>> = {
  '40001': 'contention', // serialization_failure
  '40P01': 'contention', // deadlock_detected
  '55P03': 'contention', // lock_not_available: waited for as long as it may
  '53100': 'full', // disk_full
  '54': 'too_large', // program_limit_exceeded
  '23': 'corrupt', // integrity constraint: two records claim one place, which the domain rules out
  XX001: 'corrupt', // data_corrupted
  XX002: 'corrupt', // index_corrupted
};

/** Wrong user or password, no such database, no right to it; a host that has no address. */
const misconfigured = new Set(['28000', '28P01', '3D000', '42501', 'ENOTFOUND']);

/** A failure that carries the code of the server. */
export class StatementError extends StoreError {
  /** `undefined` when the connection failed rather than the statement. */
  readonly sqlState: string | undefined;
  readonly constraint: string | undefined;
  /** For the log, which keeps no message of an error: `ECONNREFUSED`, or an SQLSTATE. */
  readonly code: string | undefined;

  /** The driver's error is not kept as a cause: its details quote keys and values. */
  constructor(error: unknown) {
    const { code, constraint, message } = factsOf(error);
    const sqlState =
      code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E') ? code : undefined;
    const failure = failures[sqlState ?? ''] ?? failures[sqlState?.slice(0, 2) ?? ''] ?? 'unavailable';
    super(
      failure,
      `PostgreSQL: ${sqlState === undefined ? unanswered(code, message) : serverFailure(sqlState, message)}`,
      { isMisconfigured: misconfigured.has(sqlState ?? code ?? '') },
    );
    this.sqlState = sqlState;
    this.constraint = constraint;
    this.code = code;
  }
}

const createdTwice = '23505';
const retried = new Set(['40001', '40P01', '55P03']);
// The rows of one statement are written in no order, so a record that a rival created first may conflict by its parts.
const keysOfRecords = new Set(['records_pkey', 'parts_pkey']);

/** Nothing was written, and the next attempt sees the rival's writes: it serialized first, or created a record first. */
export function isLostRace(error: unknown): boolean {
  if (!(error instanceof StatementError) || error.sqlState === undefined) return false;
  if (error.sqlState === createdTwice) return keysOfRecords.has(error.constraint ?? '');
  return retried.has(error.sqlState);
}

const poolTimeout = 'timeout exceeded when trying to connect';

/** The driver's pool had no connection to give in time: all are in use, or still being opened. */
export function isPoolTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === poolTimeout;
}

/** Nothing was sent. */
export function fullPoolError(): StoreError {
  return new StoreError('contention', 'PostgreSQL: all connections of this instance are busy');
}

export function closedError(): StoreError {
  return new StoreError('unavailable', 'the PostgreSQL store is closed');
}

/** Messages of the server quote stored values in class 22 (data exceptions) only; others name tables, roles and limits. */
function serverFailure(sqlState: string, message: string): string {
  return sqlState.startsWith('22') ? `it refused a value (${sqlState})` : `${message} (${sqlState})`;
}

/** Messages of the driver that do not depend on the connection string. */
const plainWords =
  /^(The server does not support SSL connections|Connection terminated.*|timeout expired|timeout exceeded when trying to connect|Query read timeout|SASL: [A-Za-z -]+: .*)$/;

/** Addresses and paths belong to the connection string, so only the code of a failed connection is passed on. */
function unanswered(code: string | undefined, message: string): string {
  if (code !== undefined) return `the connection failed (${code})`;
  return plainWords.test(message) ? message : 'the connection failed';
}

/** A refused connection to a name with several addresses is an `AggregateError`, which may have no code of its own. */
function factsOf(error: unknown): { code?: string; constraint?: string; message: string } {
  if (!(error instanceof Error)) return { message: '' };
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  const inner = error instanceof AggregateError ? factsOf(error.errors[0]).code : undefined;
  const known = typeof code === 'string' ? code : inner;
  return {
    ...(known === undefined ? {} : { code: known }),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    message: error.message,
  };
}
