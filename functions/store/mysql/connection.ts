import type { Duplex } from 'node:stream';
import { type Connection as Client, createConnection, type ResultSetHeader } from 'mysql2/promise';
import { StoreError } from '../port.ts';
import { closedError, StatementError } from './errors.ts';
import { COMMIT, ROLLBACK, type Statement, statement } from './statement.ts';

/** The answer to a statement: a SELECT has rows, a write the number of rows that it matched. */
export interface StatementAnswer<Row = unknown> {
  readonly rows: readonly Row[];
  readonly matched: number;
  readonly insertId: number;
}

export type StatementAnswers<S extends readonly Statement[]> = {
  -readonly [I in keyof S]: S[I] extends Statement<infer Row> ? StatementAnswer<Row> : never;
};

export interface ConnectionOptions {
  readonly address: Parameters<typeof createConnection>[0];
  readonly tablePrefix: string;
  readonly connectTimeoutMs: number;
  /** How long to wait for the answer to one packet. */
  readonly queryTimeoutMs: number;
  /** How long the server lets a statement wait for the row locks of others. */
  readonly lockTimeoutMs: number;
  /** The server ends a session that is silent for this long, and rolls back its open transaction. */
  readonly silenceMaxMs: number;
}

/** Writes are sent in packets of about this size: round trips are few, and no server's own limit is near. */
const packetBytes = 1024 * 1024;

/** Bytes that the driver puts before a statement. */
const packetHeadBytes = 64;

/** One session of the server, for one user at a time. */
export class Connection {
  readonly #client: Client;
  readonly #options: ConnectionOptions;
  #packetBytesMax = packetBytes;
  #broken = false;
  #open = false;
  /** Called once when the session ends, on either side. */
  onEnd: () => void = () => undefined;

  private constructor(client: Client, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    // Without a listener, an idle connection that breaks would end the process.
    const broke = () => {
      this.#broken = true;
      this.onEnd();
    };
    client.on('error', broke).on('end', broke);
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    let client: Client;
    try {
      client = await createConnection({
        ...(options.address as object),
        charset: 'UTF8MB4_BIN',
        connectTimeout: options.connectTimeoutMs,
        // A packet carries several statements with escaped values; the first failure stops the others.
        multipleStatements: true,
        // The driver would else make the code that reads rows from the names of their columns.
        disableEval: true,
        trace: false,
      });
    } catch (error) {
      throw new StatementError(error);
    }
    const connection = new Connection(client, options);
    try {
      await connection.#prepare();
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** A connection in doubt must not be used again. */
  get usable(): boolean {
    return !this.#broken && !this.#open;
  }

  /** The most bytes of the values in one statement: escaping may double them, and the server limits the packet. */
  get valuesBytes(): number {
    return Math.min(packetBytes, this.#packetBytesMax / 4);
  }

  /** All in one round trip, executed one after the other up to the first failure. */
  async send<const S extends readonly Statement[]>(...statements: S): Promise<StatementAnswers<S>> {
    return (await this.#send(statements.map((each) => this.#render(each)))) as StatementAnswers<S>;
  }

  /** As few packets as their sizes allow. */
  async write(...statements: readonly Statement[]): Promise<void> {
    let packet: string[] = [];
    let bytes = 0;
    for (const text of statements.map((each) => this.#render(each))) {
      const size = Buffer.byteLength(text);
      if (packet.length > 0 && bytes + size > packetBytes) {
        await this.#send(packet);
        [packet, bytes] = [[], 0];
      }
      packet.push(text);
      bytes += size;
    }
    if (packet.length > 0) await this.#send(packet);
  }

  /** Writes and ends the transaction: COMMIT travels with the last of the writes and is reached only if all went well. */
  async commit(...writes: readonly Statement[]): Promise<void> {
    await this.write(...writes, COMMIT);
  }

  /** Ends a transaction that wrote nothing, without waiting: the next statement on the connection runs after it. */
  leave(): void {
    this.#open = false;
    this.#send([ROLLBACK.text]).catch(() => this.destroy());
  }

  /** After a failure, so that the connection can be used again; one that does not roll back is closed. */
  async rollback(): Promise<void> {
    if (this.#broken) return;
    try {
      await this.#send([ROLLBACK.text]);
    } catch {
      this.destroy();
    }
  }

  async ping(): Promise<void> {
    await this.#send(['DO 0']);
  }

  async end(): Promise<void> {
    if (this.#broken) return;
    this.#broken = true;
    await this.#client.end().catch(() => undefined);
  }

  destroy(): void {
    this.#broken = true;
    this.#client.destroy();
    // The driver waits for the server to confirm the end; an unreachable server never does.
    (this.#client as unknown as { connection: { stream: Duplex } }).connection.stream.destroy();
  }

  async #prepare(): Promise<void> {
    const { lockTimeoutMs, silenceMaxMs, queryTimeoutMs } = this.#options;
    // The server's timeout is shorter than the client's, so that no statement is left running. MySQL and MariaDB name
    // that setting differently, and each ignores the comment for the other.
    const statementMs = Math.max(1000, queryTimeoutMs - 2000);
    const [, limits] = await this.send(
      statement(`SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1,
        innodb_lock_wait_timeout = ${inSeconds(lockTimeoutMs)}, wait_timeout = ${inSeconds(silenceMaxMs)}
        /*M! , max_statement_time = ${statementMs / 1000} */ /*!80000 , max_execution_time = ${statementMs} */`),
      statement<{ bytes: number }>('SELECT @@max_allowed_packet AS bytes'),
      statement('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'),
    );
    this.#packetBytesMax = limits.rows[0]?.bytes ?? packetBytes;
  }

  /** Table names are inserted before values, so that no value can be read as a table name. */
  #render({ text, values }: Statement): string {
    const named = text.replaceAll(
      /\{(\w+)\}/g,
      (_, table: string) => `\`${this.#options.tablePrefix}${table}\``,
    );
    return values.length === 0 ? named : this.#client.format(named, [...values]);
  }

  async #send(texts: readonly string[]): Promise<StatementAnswer[]> {
    if (this.#broken) throw closedError();
    const sql = texts.join(';\n');
    // The server would close the connection on such a packet, often before its reason can be read.
    if (Buffer.byteLength(sql) + packetHeadBytes > this.#packetBytesMax) {
      throw new StoreError(
        'too_large',
        `MySQL: a statement exceeds max_allowed_packet, which is ${this.#packetBytesMax} bytes`,
      );
    }
    if (texts.some((text) => text.startsWith('START TRANSACTION'))) this.#open = true;
    try {
      const [results] = await this.#client.query({ sql, timeout: this.#options.queryTimeoutMs });
      if (texts.at(-1) === COMMIT.text || texts.at(-1) === ROLLBACK.text) this.#open = false;
      return (texts.length === 1 ? [results] : (results as unknown[])).map(answerOf);
    } catch (error) {
      const failure = new StatementError(error);
      if (!failure.sessionGoesOn) this.destroy();
      throw failure;
    }
  }
}

function inSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

/** The one column that holds no text. */
const bytesColumn = 'vector';

function answerOf(result: unknown): StatementAnswer {
  if (!Array.isArray(result)) {
    const { affectedRows, insertId } = result as ResultSetHeader;
    return { rows: [], matched: affectedRows, insertId };
  }
  const rows = result as Record<string, unknown>[];
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (Buffer.isBuffer(value) && name !== bytesColumn) row[name] = value.toString();
    }
  }
  return { rows, matched: 0, insertId: 0 };
}
