import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordStore, ScanPage } from '../../functions/store/port.ts';

/** The calls and records of the store that a request costs, and its changes there. */

export class StoreCount {
  /** Calls of the store, and records that it read or was asked for. */
  calls = 0;
  records = 0;

  /** The store, counted. A verb that the port gains later is counted too. */
  readonly watch = (store: RecordStore): RecordStore =>
    new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name === 'close') return member.bind(target) as unknown;
        return (...given: readonly unknown[]) => {
          this.calls += 1;
          this.records += keysIn(given);
          return this.#counted(
            Reflect.apply(
              member,
              target,
              given.map((each) => this.#decider(each)),
            ),
          );
        };
      },
    });

  /** Store calls and records since the last call of this method. */
  taken(): number {
    const sum = this.calls + this.records;
    this.calls = 0;
    this.records = 0;
    return sum;
  }

  /** Waits until the service has left the store alone for many turns: jobs and traces go on behind their answers. */
  async rested(): Promise<void> {
    let { calls } = this;
    for (let quiet = 0; quiet < 50; quiet += 1) {
      await nextTurn();
      if (this.calls === calls) continue;
      ({ calls } = this);
      quiet = 0;
    }
  }

  /** `claim` offers records to a function; each offer is a record read. */
  #decider(given: unknown): unknown {
    if (typeof given !== 'function') return given;
    return (...offered: readonly unknown[]): unknown => {
      if (offered.length === 2) this.records += 1;
      return Reflect.apply(given, undefined, offered);
    };
  }

  #counted(result: unknown): unknown {
    if (result instanceof Promise)
      return result.then((value: unknown) => {
        this.records += recordsIn(value);
        return value;
      });
    if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result)
      return this.#pages(result as AsyncIterable<ScanPage>);
    return result;
  }

  async *#pages(pages: AsyncIterable<ScanPage>): AsyncIterable<ScanPage> {
    for await (const page of pages) {
      this.records += recordsIn(page);
      yield page;
    }
  }
}

function keysIn(given: readonly unknown[]): number {
  return given
    .map((each) => (each as { readonly keys?: readonly unknown[] } | undefined)?.keys?.length ?? 0)
    .reduce((sum, count) => sum + count, 0);
}

/** Records of an answer of the store, in any shape that holds lists of them. */
function recordsIn(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  const { records, parts } = value as Readonly<Record<string, unknown>>;
  return (Array.isArray(records) ? records.length : 0) + (Array.isArray(parts) ? parts.length : 0);
}

/** Reads all rows of the database of a service over a connection of its own. */
export class StoreContent {
  readonly #database: DatabaseSync;
  readonly #version: StatementSync;
  readonly #tables: readonly StatementSync[];
  #read: { readonly version: unknown; readonly rows: ReadonlySet<string> } = {
    version: null,
    rows: new Set(),
  };

  constructor(folder: string) {
    const database = new DatabaseSync(join(folder, 'svc.canonical.sqlite'), { readOnly: true });
    this.#database = database;
    this.#version = database.prepare('PRAGMA data_version');
    this.#tables = database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
      .all()
      .map(({ name }) => database.prepare(rowsAsText(database, String(name))));
  }

  /** Every row as text, with its table; the same set while no other connection has written. */
  rows(): ReadonlySet<string> {
    const version = this.#version.get()?.['data_version'];
    if (version !== this.#read.version) {
      const rows = this.#tables.flatMap((table) => table.all().map(({ row }) => String(row)));
      // Upkeep adds the use of owners some time after the writes that are counted.
      this.#read = { version, rows: new Set(rows.filter((row) => !row.includes('\u001Fusage\u001F'))) };
    }
    return this.#read.rows;
  }

  close(): void {
    this.#database.close();
  }
}

/** Texts stay as they are, so that names are found in them. The database writes the text: it is much quicker than a program. */
function rowsAsText(database: DatabaseSync, table: string): string {
  const columns = database
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(
      ({ name }) => `iif(typeof("${String(name)}") = 'text', "${String(name)}", quote("${String(name)}"))`,
    );
  return `SELECT '${table}' || char(31) || ${columns.join(' || char(31) || ')} AS row FROM "${table}"`;
}

/** Rows of `before` that hold one of the names, and are missing or changed in `after`. */
export function changedRows(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  names: readonly string[],
): readonly string[] {
  if (before === after) return [];
  return [...before].filter((row) => !after.has(row) && names.some((name) => row.includes(name)));
}

/** Rows that are in one of the two only. */
export function differentRows(before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] {
  if (before === after) return [];
  const notIn = (other: ReadonlySet<string>) => (row: string) => !other.has(row);
  return [...[...before].filter(notIn(after)), ...[...after].filter(notIn(before))];
}
