import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { lookedForEach } from '../list-plan.ts';
import { LookMemory } from '../look-memory.ts';

/** One connection with its prepared statements; each distinct text is compiled once. */
export class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** The statements that answer rows as lists. */
  readonly #tuples = new Map<string, StatementSync>();
  /** Characters of bodies written so far; the write queue bounds a group by their growth. */
  written = 0;
  /** Pages of the term index that wait for a merge; `null` before the first write. */
  unmergedPages: number | null = null;
  readonly looks = new LookMemory({ first: lookedForEach, wide: lookedForEach });
  onClose: () => void = () => undefined;

  /** Whether lists of this collection combine an equality with an order. Set when the store is opened. */
  paired: (collection: string) => boolean = () => true;
  /** Whether lists of this collection always name a group. Set when the store is opened. */
  grouped: (collection: string) => boolean = () => false;

  constructor(path: string | URL, options: { readonly readOnly: boolean; readonly busyTimeoutMs: number }) {
    this.#database = new DatabaseSync(path, { readOnly: options.readOnly, timeout: options.busyTimeoutMs });
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  run(sql: string, ...values: SQLInputValue[]): { changes: number; rowid: number } {
    const outcome = this.#prepared(sql).run(...values);
    return { changes: Number(outcome.changes), rowid: Number(outcome.lastInsertRowid) };
  }

  /** The caller names the row's shape, which the STRICT tables of the schema hold to. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  /** The rows as lists of their columns: many rows cost half as much as with names. */
  tuples<Row extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#tupled(sql).all(...values) as unknown as Row[];
  }

  /** As `tuples`, row by row. */
  eachTuple<Row extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Iterable<Row> {
    return this.#tupled(sql).iterate(...values) as unknown as Iterable<Row>;
  }

  iterate<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row> {
    return this.#prepared(sql).iterate(...values) as Iterable<Row>;
  }

  /** `read` sees one moment, also while other processes write. */
  snapshot<R>(read: () => R): R {
    this.run('BEGIN');
    try {
      return read();
    } finally {
      this.rollback();
    }
  }

  /** SQLite ends a transaction itself after some failures; only an open one is rolled back. */
  rollback(): void {
    if (this.#database.isTransaction) this.run('ROLLBACK');
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  close(): void {
    this.#statements.clear();
    this.#tuples.clear();
    if (this.#database.isOpen) this.#database.close();
    this.onClose();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #tupled(sql: string): StatementSync {
    let statement = this.#tuples.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      statement.setReturnArrays(true);
      this.#tuples.set(sql, statement);
    }
    return statement;
  }
}
