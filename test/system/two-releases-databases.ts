import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { machine } from '../../functions/compose/machine.ts';
import { executionCollections as collections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { firestoreHost, firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';

/** A database of its own that several servers share. */
export interface SharedDatabase {
  /** The environment of each server. */
  readonly env: Readonly<Record<string, string>>;
  /** The same database for this process. */
  open(): Promise<RecordStore>;
  drop(): Promise<void>;
}

export interface DatabaseKind {
  readonly name: string;
  readonly shards: number;
  readonly missing: string | undefined;
  create(): Promise<SharedDatabase>;
}

const nothing = () => Promise.resolve();

export const databaseKinds: readonly DatabaseKind[] = [
  {
    name: 'a SQLite file',
    shards: 1,
    missing: undefined,
    create: () => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-two-'));
      const path = join(folder, 'svc.canonical.sqlite');
      return Promise.resolve({
        env: { SVC_DATA_DIR: folder },
        open: () => openSqliteStore({ path, ...machine, collections }),
        drop: () => {
          rmSync(folder, { recursive: true });
          return nothing();
        },
      });
    },
  },
  {
    name: 'PostgreSQL',
    shards: 8,
    missing: postgresMissing,
    async create() {
      const name = `two_${randomBytes(8).toString('hex')}`;
      const client = new Client({ connectionString: postgresUrl() });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      const connectionString = postgresUrl().replace('/postgres?', `/${name}?`);
      return {
        env: {
          SVC_CANONICAL_STORE_PROVIDER: 'postgresql',
          SVC_CANONICAL_CONNECTION_STRING: connectionString,
        },
        open: () => Promise.resolve(openPostgresStore({ connectionString, ...machine, collections })),
        drop: async () => {
          await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
          await client.end();
        },
      };
    },
  },
  {
    name: 'MariaDB',
    shards: 1,
    missing: mysqlMissing,
    async create() {
      const database = await createMysqlDatabase();
      return {
        env: {
          SVC_CANONICAL_STORE_PROVIDER: 'mysql',
          SVC_CANONICAL_CONNECTION_STRING: database.connectionString,
        },
        open: () => Promise.resolve(openMysqlStore(database.options())),
        drop: () => database.drop(),
      };
    },
  },
  {
    name: 'Firestore',
    shards: 8,
    missing: firestoreMissing,
    create: () => {
      const options = firestoreOptions();
      return Promise.resolve({
        env: {
          SVC_CANONICAL_STORE_PROVIDER: 'firestore',
          FIRESTORE_EMULATOR_HOST: firestoreHost(),
          GOOGLE_CLOUD_PROJECT: options.projectId,
        },
        open: () => Promise.resolve(openFirestoreStore({ ...options, collections })),
        drop: nothing,
      });
    },
  },
];
