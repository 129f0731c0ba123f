import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { StoreError } from '../port.ts';
import { type Prepared, runBatch, type StatementAnswer } from './batch.ts';
import { driverUrl } from './connection-string.ts';
import { closedError, fullPoolError, isPoolTimeout, StatementError } from './errors.ts';
import type { IfKept, KeptRow } from './kept.ts';
import { configOf, preparedOf } from './names.ts';
import { COMMIT, type Statement } from './statement.ts';

type Rows<S extends readonly Statement[]> = {
  -readonly [I in keyof S]: S[I] extends Statement<infer Row> ? Row[] : never;
};

/** Sends statements that only read. */
export interface Reader {
  send<const S extends readonly Statement[]>(...statements: S): Promise<Rows<S>>;
}

/** One session of the server, for one user at a time. */
export class Connection implements Reader {
  readonly #client: PoolClient;
  #released = false;
  #left = false;
  /** The statement after which the state is known again, since a batch has failed. */
  #ending: 'ROLLBACK' | 'SELECT 1' | undefined;
  onRelease: () => void = () => undefined;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** All in one round trip, executed one after the other; the first failure is thrown once every answer is here. */
  async send<const S extends readonly Statement[]>(...statements: S): Promise<Rows<S>> {
    const results = await this.#answers(statements);
    return results.map(({ rows }) => rows) as Rows<S>;
  }

  /**
   * Writes and ends the transaction in one round trip. After a failed write the server answers COMMIT with ROLLBACK; a
   * connection that is lost here leaves the outcome of the transaction unknown, so it must not be tried again.
   */
  async commit(...writes: readonly Statement[]): Promise<void> {
    const results = await this.#answers([...writes, COMMIT]);
    if (results.at(-1)?.command !== 'COMMIT')
      throw new StoreError('unavailable', 'the server did not commit');
  }

  /**
   * Locks and writes in one round trip and in one transaction without BEGIN and COMMIT: the server commits the batch
   * before it reports that it is ready. False when the first write found that the writes must not be made. A lost
   * connection has the same effect as in `commit`.
   */
  async commitIfKept(lock: Statement, writes: IfKept): Promise<boolean> {
    if (this.#released) throw closedError();
    const statements = [lock, ...writes];
    const prepared = preparedOf(statements);
    // Sent one by one, each would be a transaction.
    if (prepared === undefined) throw new TypeError('a script is no part of a batch');
    const [, answer] = await this.#batch(statements, prepared);
    if (this.#client.getTransactionStatus() !== 'I')
      throw new StoreError('unavailable', 'the server did not commit');
    const [row] = (answer?.rows ?? []) as KeptRow[];
    return row?.kept === true;
  }

  /** Ends a transaction that wrote nothing, without waiting: the next statement on the connection runs after it. */
  leave(): void {
    this.#left = true;
    this.#client.query('ROLLBACK').catch(() => undefined);
  }

  /** After a failure, so that the connection can be used again. */
  async rollback(): Promise<void> {
    if (this.#left || this.#released) return;
    if (this.#ending === undefined && this.#client.getTransactionStatus() === 'I') return;
    await this.#client.query(this.#ending ?? 'ROLLBACK').then(
      () => (this.#ending = undefined),
      () => undefined,
    );
  }

  /** Back to the others; a connection in doubt is closed. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.onRelease();
    this.#client.release(
      !this.#left && (this.#ending !== undefined || this.#client.getTransactionStatus() !== 'I'),
    );
  }

  async #answers(statements: readonly Statement[]): Promise<StatementAnswer[]> {
    if (this.#released) throw closedError();
    const prepared = preparedOf(statements);
    if (prepared !== undefined) return this.#batch(statements, prepared);
    // Corked, so that all of it leaves in one packet if it fits.
    const { stream } = this.#client.connection;
    stream.cork();
    const queries = statements.map((each) => this.#client.query(configOf(each)));
    stream.uncork();
    const answers = await Promise.allSettled(queries);
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw new StatementError(answer.reason);
      return answer.value;
    });
  }

  async #batch(statements: readonly Statement[], prepared: readonly Prepared[]): Promise<StatementAnswer[]> {
    const opens = statements.some(({ text }) => text.startsWith('BEGIN'));
    const isOpen = opens || this.#client.getTransactionStatus() !== 'I';
    try {
      return await runBatch(this.#client, prepared);
    } catch (error) {
      // A rollback without a transaction would be a warning in the server's log.
      this.#ending = isOpen ? 'ROLLBACK' : 'SELECT 1';
      throw new StatementError(error);
    }
  }
}

export interface DatabaseOptions {
  /**
   * A URL, `postgresql://user:password@host:port/database?sslmode=verify-full`, or words, `host=… dbname=…`; a host that
   * begins with a slash is the folder of a Unix socket. A pooler in between has to keep one session for one client.
   */
  readonly connectionString: string;
  /** Where the tables are: a lower-case word. Default `svc`. */
  readonly schema?: string;
  /** Connections of this instance at most, beside those of scans, of which there are four. */
  readonly poolSize?: number;
  /** How long a call waits for a connection. */
  readonly connectTimeoutMs?: number;
  /** How long the server works on one statement. */
  readonly statementTimeoutMs?: number;
  /** How long a statement waits for the locks of others. */
  readonly lockTimeoutMs?: number;
}

export const defaults = {
  schema: 'svc',
  poolSize: 10,
  connectTimeoutMs: 5_000,
  statementTimeoutMs: 15_000,
  lockTimeoutMs: 5_000,
} as const;

/** Each scan holds a connection and a snapshot until it is read to its end or abandoned. */
const scansMax = 4;
const idleTimeoutMs = 30_000;
/** A transaction is idle only during a decision. A longer idle time belongs to a process that hangs or has died. */
const idleInTransactionMs = 30_000;
/** Longer than the server's own limit: only a network that swallows everything gets so far. */
const answerGraceMs = 3_000;

/**
 * Every statement here should use an index, row by row. The planner cannot know that: index names are data, tables grow
 * from empty, and the server may keep a plan made for an empty table.
 * @testonly
 */
export const plans = `
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
  SET enable_sort = off; SET enable_material = off; SET max_parallel_workers_per_gather = 0; SET jit = off;
  SET plan_cache_mode = force_generic_plan;`;

/** A commit is answered when it is on disk, even where the database's default is weaker; stricter defaults stay. */
const durable = `SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') = 'off';`;

/** The connections to one database. Each is opened on demand. */
export class Database {
  readonly #pool: Pool;
  readonly #scans: Pool;
  readonly #settings: string;
  readonly #ready = new WeakSet<PoolClient>();
  /** Connections in use. */
  readonly #busy = new WeakMap<Pool, Set<PoolClient>>();
  readonly #openScans = new Set<Connection>();
  #closed = false;

  constructor(options: DatabaseOptions) {
    const { schema, poolSize, connectTimeoutMs, statementTimeoutMs, lockTimeoutMs } = {
      ...defaults,
      ...options,
    };
    const config = (max: number): PoolConfig => ({
      connectionString: driverUrl(options.connectionString),
      max,
      pipeline: true,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: idleTimeoutMs,
      query_timeout: statementTimeoutMs + answerGraceMs,
      keepAlive: true,
      allowExitOnIdle: true,
      fallback_application_name: 'svc',
    });
    this.#pool = tolerant(new Pool(config(poolSize)));
    this.#scans = tolerant(new Pool(config(scansMax)));
    for (const pool of [this.#pool, this.#scans]) this.#watch(pool);
    this.#settings = `
      SET search_path = ${schema}, pg_temp; SET client_min_messages = warning;
      SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off;
      SET statement_timeout = ${statementTimeoutMs}; SET lock_timeout = ${lockTimeoutMs};
      SET idle_in_transaction_session_timeout = ${idleInTransactionMs}; ${plans} ${durable}`;
  }

  async run<R>(work: (connection: Connection) => Promise<R>): Promise<R> {
    const connection = new Connection(await this.#acquire(this.#pool));
    try {
      return await work(connection);
    } catch (error) {
      await connection.rollback();
      throw error;
    } finally {
      connection.release();
    }
  }

  /** A connection for one scan, which releases it. */
  async openScan(): Promise<Connection> {
    const client = await this.#acquire(this.#scans);
    const connection = new Connection(client);
    const release = (): void => connection.release();
    // The server ends scans that their reader has abandoned; a scan must free its place in the pool.
    client.once('end', release);
    this.#openScans.add(connection);
    connection.onRelease = () => {
      client.off('end', release);
      this.#openScans.delete(connection);
    };
    return connection;
  }

  /** Waits until every connection is released. Scans end here: some are never read to their end. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const scan of this.#openScans) scan.release();
    await Promise.all([this.#pool.end(), this.#scans.end()]);
  }

  #watch(pool: Pool): void {
    const busy = new Set<PoolClient>();
    this.#busy.set(pool, busy);
    pool.on('acquire', (client) => busy.add(client));
    pool.on('release', (_error, client) => busy.delete(client));
  }

  async #acquire(pool: Pool): Promise<PoolClient> {
    if (this.#closed) throw closedError();
    let client: PoolClient | undefined;
    try {
      client = await pool.connect();
      if (!this.#ready.has(client)) {
        await client.query(this.#settings);
        this.#ready.add(client);
      }
      return client;
    } catch (error) {
      client?.release(true);
      // When no connection could be opened at all, the database is unreachable.
      if (isPoolTimeout(error) && this.#busy.get(pool)?.size !== 0) throw fullPoolError();
      throw new StatementError(error);
    }
  }
}

/** A broken connection emits an `error` event beside its answers. Without a listener that event ends the process. */
function tolerant(pool: Pool): Pool {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
