import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RecordStore, ScanPage } from '../../functions/store/port.ts';

/** What a request costs the store, and what it changes there. */

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
  readonly #tables: readonly string[];
  #version: unknown;
  #rows: readonly string[] = [];

  constructor(folder: string) {
    this.#database = new DatabaseSync(join(folder, 'svc.canonical.sqlite'), { readOnly: true });
    this.#tables = this.#database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
      .all()
      .map(({ name }) => String(name));
  }

  /** Every row as text, with its table; the same list while no other connection has written. */
  rows(): readonly string[] {
    const version = this.#database.prepare('PRAGMA data_version').get()?.['data_version'];
    if (version !== this.#version) this.#rows = this.#read();
    this.#version = version;
    return this.#rows;
  }

  #read(): readonly string[] {
    return this.#tables.flatMap((table) => {
      const rows = this.#database.prepare(`SELECT * FROM "${table}"`);
      // The index of words numbers its blocks beyond what a double holds.
      rows.setReadBigInts(true);
      return rows.all().map((row) => `${table} ${JSON.stringify(row, withWholeNumbers)}`);
    });
  }

  close(): void {
    this.#database.close();
  }
}

function withWholeNumbers(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** Rows of `before` that hold one of the names, and are missing or changed in `after`. */
export function changedRows(
  before: readonly string[],
  after: readonly string[],
  names: readonly string[],
): readonly string[] {
  if (before === after) return [];
  const left = new Set(after);
  return before.filter((row) => !left.has(row) && names.some((name) => row.includes(name)));
}

/** Rows that are in one of the two only. */
export function differentRows(before: readonly string[], after: readonly string[]): readonly string[] {
  if (before === after) return [];
  const [old, left] = [new Set(before), new Set(after)];
  return [...before.filter((row) => !left.has(row)), ...after.filter((row) => !old.has(row))];
}
