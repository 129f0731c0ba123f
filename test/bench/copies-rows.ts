import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { FieldPath, Firestore } from '@google-cloud/firestore';
import { createConnection } from 'mysql2';
import { tenantCollections, tenantScope } from '../../functions/groups/canonical/records.ts';
import { collectionPath, headPath } from '../../functions/store/firestore/layout.ts';

/** The tables that hold a tenant, and the order in which they are copied. */
const TABLES = [
  { name: 'records', order: 'space, collection, id' },
  // As commits have filed them: no restore meets them in the order of their keys either.
  { name: 'parts', order: null },
  { name: 'entries', order: null },
] as const;

const POSTGRES_TYPES: Readonly<Record<string, string>> = {
  space: 'bigint',
  due: 'bigint',
  part_bytes: 'bigint',
  hidden: 'boolean',
  paired: 'boolean',
};

/** Rows of one table, as the driver gives and takes them. */
interface RowBatch {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** The rows of a database by its driver alone. */
export interface Rows {
  /** The texts and bytes of the records and their parts, in the order of the records' keys. */
  texts(): AsyncIterable<string | Uint8Array>;
  /** All rows, table by table, each about in the order in which a restore writes them. */
  batches(): AsyncIterable<RowBatch>;
  /** Writes a batch durably, in one transaction. */
  write(batch: RowBatch): Promise<void>;
  close(): Promise<void>;
}

/** `settings` name a database as the command line of a server does. */
export async function openRows(settings: readonly string[], tenantId: string): Promise<Rows> {
  const named = new Map(
    settings.map((setting): [string, string] => {
      const at = setting.indexOf('=');
      return [setting.slice(0, at), setting.slice(at + 1)];
    }),
  );
  const get = (name: string) => named.get(name) ?? '';
  const provider = get('CanonicalStore:Provider');
  if (provider === 'sqlite') return sqliteRows(get('CanonicalStore:DatabasePath'));
  if (provider === 'postgresql') return postgresRows(get('CanonicalStore:ConnectionString'));
  if (provider === 'mysql') return mysqlRows(get('CanonicalStore:ConnectionString'));
  return firestoreRows(get('Firestore:ProjectId'), get('Firestore:EmulatorHost'), tenantId);
}

/** As much as a transaction of the store carries. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 1024 * 1024;

async function* batched(
  table: string,
  rows: Iterable<Record<string, unknown>> | AsyncIterable<Record<string, unknown>>,
): AsyncGenerator<RowBatch, void, undefined> {
  let columns: string[] = [];
  let batch: unknown[][] = [];
  let characters = 0;
  for await (const row of rows) {
    columns = Object.keys(row);
    batch.push(Object.values(row));
    const body = row['body'];
    if (typeof body === 'string' || body instanceof Uint8Array) characters += body.length;
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield { table, columns, rows: batch };
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield { table, columns, rows: batch };
}

function orderBy(order: string | null): string {
  return order === null ? '' : ` ORDER BY ${order}`;
}

function sqliteRows(path: string): Rows {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -65536`);
  return {
    async *texts() {
      const sql = `SELECT r.head, r.indexes, r.body, p.body AS part FROM records AS r
        LEFT JOIN json_each(r.parts) AS e
        LEFT JOIN parts AS p ON p.space = r.space AND p.filed_under = e.value ->> 0 AND p.part_order = e.value ->> 1
        ORDER BY r.space, r.collection, r.id`;
      for (const row of db.prepare(sql).iterate()) {
        for (const text of Object.values(row)) if (typeof text === 'string') yield text;
      }
    },
    async *batches() {
      for (const { name, order } of TABLES) {
        yield* batched(name, db.prepare(`SELECT * FROM ${name}${orderBy(order)}`).iterate());
      }
    },
    async write({ table, columns, rows }) {
      const marks = columns.map(() => '?').join(', ');
      const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`);
      db.exec('BEGIN IMMEDIATE');
      for (const row of rows) insert.run(...(row as SQLInputValue[]));
      db.exec('COMMIT');
    },
    close: async () => db.close(),
  };
}

async function postgresRows(connectionString: string): Promise<Rows> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString, options: '-c search_path=svc' });
  await client.connect();
  const read = async function* (sql: string): AsyncGenerator<Record<string, unknown>, void, undefined> {
    // From the start, row by row through the indexes: sorting it all first would be another plan than an export's.
    await client.query(`BEGIN; SET LOCAL enable_sort = off; SET LOCAL enable_hashjoin = off;
      DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
    for (;;) {
      const { rows } = await client.query<Record<string, unknown>>(`FETCH ${BATCH_ROWS} FROM rows`);
      if (rows.length === 0) break;
      yield* rows;
    }
    await client.query('COMMIT');
  };
  return {
    async *texts() {
      const sql = `SELECT r.head, r.indexes, r.body, p.body AS part FROM records AS r
        LEFT JOIN LATERAL json_array_elements(r.parts::json) AS e (place) ON true
        LEFT JOIN LATERAL (SELECT p.body FROM parts AS p WHERE p.space = r.space
          AND p.filed_under = e.place ->> 0 AND p.part_order = e.place ->> 1 OFFSET 0) AS p ON true
        ORDER BY r.space, r.collection, r.id`;
      for await (const row of read(sql)) {
        for (const text of Object.values(row)) if (typeof text === 'string') yield text;
      }
    },
    async *batches() {
      for (const { name, order } of TABLES) {
        yield* batched(name, read(`SELECT * FROM ${name}${orderBy(order)}`));
      }
    },
    async write({ table, columns, rows }) {
      const types = columns.map((column, n) => `$${n + 1}::${POSTGRES_TYPES[column] ?? 'text'}[]`);
      await client.query(
        `INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM unnest(${types.join(', ')})`,
        columns.map((_, n) => rows.map((row) => row[n])),
      );
    },
    close: () => client.end(),
  };
}

async function mysqlRows(connectionString: string): Promise<Rows> {
  const url = new URL(connectionString);
  const client = createConnection({
    socketPath: url.searchParams.get('socketPath') ?? '',
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
  });
  const read = (sql: string) =>
    client.query(sql).stream({ highWaterMark: BATCH_ROWS }) as AsyncIterable<Record<string, unknown>>;
  return {
    async *texts() {
      const sql = `SELECT r.head, r.indexes, r.body, p.body AS part FROM svc_records AS r
        LEFT JOIN svc_parts AS p FORCE INDEX (parts_by_record)
          ON p.space = r.space AND p.collection = r.collection AND p.id = r.id
        ORDER BY r.space, r.collection, r.id, p.position`;
      for await (const row of read(sql)) {
        for (const text of Object.values(row)) if (text !== null) yield text as Uint8Array;
      }
    },
    async *batches() {
      for (const { name, order } of TABLES) {
        yield* batched(name, read(`SELECT * FROM svc_${name}${orderBy(order)}`));
      }
    },
    write: ({ table, columns, rows }) =>
      new Promise((resolve, reject) => {
        const sql = `INSERT INTO svc_${table} (${columns.join(', ')}) VALUES ?`;
        client.query(sql, [rows], (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () =>
      new Promise((resolve, reject) => {
        client.end((error) => (error === undefined || error === null ? resolve() : reject(error)));
      }),
  };
}

/** A copy goes to collections of its own, whose documents have the fields and so the index entries of the store's. */
async function firestoreRows(projectId: string, host: string, tenantId: string): Promise<Rows> {
  const db = new Firestore({ projectId, host, ssl: false });
  const scope = tenantScope(tenantId);
  const generation = async (): Promise<string> => {
    const head = await db.doc(headPath(scope)).get();
    return String(head.get('generation'));
  };
  const read = async function* (path: string) {
    const ordered = db.collection(path).orderBy(FieldPath.documentId()).limit(BATCH_ROWS);
    for (let page = ordered; ; ) {
      const { docs } = await page.get();
      yield* docs;
      const last = docs.at(-1);
      if (last === undefined) return;
      page = ordered.startAfter(last.id);
    }
  };
  return {
    async *texts() {
      for (const { name } of tenantCollections.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        for await (const document of read(collectionPath(scope, await generation(), name))) {
          yield JSON.stringify(document.data());
        }
      }
    },
    async *batches() {
      for (const { name } of tenantCollections) {
        const documents = read(collectionPath(scope, await generation(), name));
        const rows = async function* () {
          for await (const document of documents) yield { id: document.id, fields: document.data() };
        };
        yield* batched(name, rows());
      }
    },
    async write({ table, rows }) {
      const bulk = db.bulkWriter({ throttling: false });
      for (const [id, fields] of rows) {
        void bulk.create(db.doc(`bare/copy/${table}/${String(id)}`), fields as Record<string, unknown>);
      }
      await bulk.close();
    },
    close: () => db.terminate(),
  };
}
