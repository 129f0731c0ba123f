import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { POLICIES, RECORDS } from '../../functions/collections/store-collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { collections as ofTenants, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { Clock } from '../../functions/kernel/world.ts';
import { createClient } from '../../functions/store/firestore/client.ts';
import { headPath } from '../../functions/store/firestore/layout.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import type { Database } from '../histories/process-instance.ts';
import { firestoreMissing, firestoreOptions, firestoreProject } from '../support/firestore.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { postgresMissing, postgresOptions, postgresSchema, postgresUrl } from '../support/postgres.ts';

const collections = [...ofTenants, POLICIES, RECORDS];

/** A database of its own, to be opened by any number of instances. */
export interface TestDatabase {
  /** How a process of its own finds it. */
  readonly found: Database;
  open(clock?: Clock): Promise<RecordStore>;
  /** Rows, or documents, that belong to nothing which is live. */
  leftovers(tenantId: string): Promise<number>;
  /** Makes a running load look as if it had not written for more than an hour. */
  age(): Promise<void>;
  drop(): Promise<void>;
}

export interface Provider {
  readonly name: Database['provider'];
  /** Why it is left out of this run; `undefined` when it is available. */
  readonly missing: string | undefined;
  create(): Promise<TestDatabase>;
}

const tables = ['spaces', 'records', 'entries', 'parts'] as const;

export const sqlite: Provider = {
  name: 'sqlite',
  missing: undefined,
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'svc-archives-'));
    const path = join(folder, 'canonical.sqlite');
    return {
      found: { provider: 'sqlite', path },
      open: (clock = machine.clock) => openSqliteStore({ path, ...machine, clock, collections }),
      leftovers: async () => strayRows(path),
      // The database uses the clock of the instances, so instances with a later clock suffice.
      age: () => Promise.resolve(),
      drop: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

/** The rows of an SQLite file that belong to no live space. */
export function strayRows(path: string): number {
  const session = new DatabaseSync(path, { timeout: 5_000 });
  try {
    return tables.reduce((sum, table) => {
      const row = session.prepare(strayIn(table)).get();
      return sum + Number(row?.['n']);
    }, 0);
  } finally {
    session.close();
  }
}

const postgresql: Provider = {
  name: 'postgresql',
  missing: postgresMissing,
  async create() {
    const schema = postgresSchema();
    const { connectionString } = postgresOptions(schema);
    return {
      found: { provider: 'postgresql', options: { connectionString, schema } },
      open: async (clock = machine.clock) =>
        openPostgresStore({ ...postgresOptions(schema), clock, collections }),
      leftovers: () =>
        withSession(schema, async (session) => {
          let sum = 0;
          for (const table of tables) sum += Number((await session.query(strayIn(table))).rows[0].n);
          return sum;
        }),
      // The server's own clock, which no test can move.
      age: () =>
        withSession(schema, async (session) => {
          await session.query(
            `UPDATE spaces SET touched_at = now() - interval '61 minutes' WHERE state = 'loading'`,
          );
        }),
      // The server goes with the run.
      drop: () => Promise.resolve(),
    };
  },
};

async function withSession<R>(schema: string, work: (session: Client) => Promise<R>): Promise<R> {
  const session = new Client({ connectionString: postgresUrl() });
  await session.connect();
  try {
    await session.query(`SET search_path = ${schema}`);
    return await work(session);
  } finally {
    await session.end();
  }
}

const mysql: Provider = {
  name: 'mysql',
  missing: mysqlMissing,
  async create() {
    const made = await createMysqlDatabase();
    return {
      found: { provider: 'mysql', options: { connectionString: made.connectionString } },
      open: async (clock = machine.clock) => openMysqlStore({ ...made.options(), clock }),
      async leftovers() {
        const session = await made.connect();
        try {
          let sum = 0;
          for (const table of tables) {
            const [rows] = await session.query(strayIn(table, 'svc_'));
            sum += Number((rows as { n: unknown }[])[0]?.n);
          }
          return sum;
        } finally {
          await session.end();
        }
      },
      age: () => Promise.resolve(),
      drop: () => made.drop(),
    };
  },
};

function strayIn(table: string, prefix = ''): string {
  return `SELECT count(*) AS n FROM ${prefix}${table} WHERE space NOT IN (SELECT space FROM ${prefix}scopes)`;
}

const firestore: Provider = {
  name: 'firestore',
  missing: firestoreMissing,
  async create() {
    const projectId = firestoreProject();
    const options = firestoreOptions(projectId);
    const client = createClient(options);
    return {
      found: { provider: 'firestore', options: { projectId, emulatorHost: options.emulatorHost } },
      open: async (clock = machine.clock) => openFirestoreStore({ ...options, clock, collections }),
      async leftovers(tenantId) {
        const path = headPath(tenantScope(tenantId));
        const head = (await client.doc(path).get()).data() ?? {};
        let sum = 0;
        for (const generation of await client.collection(`${path}/generations`).listDocuments()) {
          if (generation.id === (head['generation'] ?? '0')) continue;
          for (const each of await generation.listCollections()) sum += (await each.get()).size;
        }
        return sum;
      },
      age: () => Promise.resolve(),
      drop: () => client.terminate(),
    };
  },
};

export const providers: readonly Provider[] = [sqlite, postgresql, mysql, firestore];

const HOUR_MS = 3_600_000;

/**
 * Sweeps as maintenance does, some hours from now: the first sweep takes an idle load for dead, and at the second the
 * replaced or abandoned records are old enough to be deleted.
 */
export async function sweepLater(database: TestDatabase): Promise<void> {
  await database.age();
  for (const hours of [2, 4]) {
    const store = await database.open({ now: () => machine.clock.now() + hours * HOUR_MS });
    await store.sweep();
    await store.close();
  }
}

/** The addition to the title of a test whose database is not available. */
export function leftOut({ missing }: Provider): string {
  return missing === undefined ? '' : `, left out: ${missing}`;
}
