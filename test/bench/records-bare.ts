import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';

type Row = Readonly<Record<string, SQLInputValue>>;

/** A stored record with its index entries, as they lie in the tables. */
interface StoredRows {
  readonly record: Row;
  readonly entries: readonly Row[];
}

/**
 * `node:sqlite` alone writing the rows of records: those that the service wrote into `from`, under new ids, into a
 * database of the same tables, each transaction flushed to disk.
 */
export class BareRecords {
  readonly #db: DatabaseSync;
  readonly #rows: readonly StoredRows[];
  #written = 0;

  private constructor(db: DatabaseSync, rows: readonly StoredRows[]) {
    this.#db = db;
    this.#rows = rows;
  }

  static async open(path: string, from: string, count: number): Promise<BareRecords> {
    await (await openSqliteStore({ path, ...machine })).close();
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000');
    db.exec(
      "INSERT INTO spaces (space, kind, name, state, touched_ms) VALUES (900, 'spaces', 'bare', 'live', 0)",
    );
    return new BareRecords(db, rowsIn(from, count));
  }

  /** Writes `count` records in one transaction. */
  write(count: number): void {
    const { begin, commit, record, entry } = this.#statements;
    begin.run();
    for (let n = 0; n < count; n++) {
      this.#written += 1;
      const suffix = String(this.#written).padStart(9, '0');
      const rows = this.#rows[this.#written % this.#rows.length];
      if (rows === undefined) throw new Error('there are no rows');
      const id = textOf(rows.record['id']).slice(9) + suffix;
      const listed = textOf(rows.record['listing_id']) + suffix;
      const { lastInsertRowid } = record.run({ ...rows.record, id, listing_id: listed });
      for (const each of rows.entries) entry.run({ ...each, listing_id: listed, record: lastInsertRowid });
    }
    commit.run();
  }

  close(): void {
    this.#db.close();
  }

  get #statements() {
    this.#made ??= {
      begin: this.#db.prepare('BEGIN IMMEDIATE'),
      commit: this.#db.prepare('COMMIT'),
      record: this.#insert('records', this.#rows[0]?.record ?? {}),
      entry: this.#insert('entries', this.#rows.find(({ entries }) => entries.length > 0)?.entries[0] ?? {}),
    };
    return this.#made;
  }
  #made: Record<'begin' | 'commit' | 'record' | 'entry', ReturnType<DatabaseSync['prepare']>> | undefined;

  #insert(table: string, row: Row) {
    const names = Object.keys(row);
    const values = names.map((name) => `:${name}`).join(', ');
    return this.#db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values})`);
  }
}

/** The rows of the last records of the file, without their numbers. */
function rowsIn(path: string, count: number): StoredRows[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const sql = "SELECT * FROM records WHERE collection = 'records' ORDER BY record DESC LIMIT ?";
    return db
      .prepare(sql)
      .all(count)
      .map((row) => {
        const { record: number, ...record } = row as Row;
        const entries = db.prepare('SELECT * FROM entries WHERE record = ?').all(number ?? null) as Row[];
        const own = (each: Row): Row => ({ ...each, space: 900 });
        return { record: own(record), entries: entries.map(own) };
      });
  } finally {
    db.close();
  }
}

function textOf(value: SQLInputValue | undefined): string {
  if (typeof value !== 'string') throw new Error('a column holds no text');
  return value;
}
