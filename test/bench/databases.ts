import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { startFirestoreEmulator } from '../../emulator/firestore.ts';
import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { type MysqlServer, startMysqlServer } from '../support/mysql-setup.ts';
import { startPostgres } from '../support/postgres-setup.ts';
import { type Bare, bareFirestore, bareMysql, barePostgres, bareSqlite } from './bare.ts';

/** A database with nothing in it. */
export interface BenchDatabase {
  /** Command-line settings of a server over it, `Key=value`. */
  readonly settings: readonly string[];
  open(): Promise<RecordStore>;
  /** The same rows written without the service. The store has made its tables by then. */
  bare(): Promise<Bare>;
}

/** A database server, or what stands for one, that runs for a benchmark and is gone after it. */
export interface BenchProvider {
  readonly name: string;
  /** The setup that the figures of this provider describe. */
  readonly about: string;
  database(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

/** Connections of a pool: enough that 32 clients keep two cores busy. */
const CONNECTIONS = 16;

/** Starts the database server of a provider. */
export async function startProvider(name: string): Promise<BenchProvider> {
  if (name === 'sqlite') return startSqlite();
  if (name === 'postgresql') return startPostgresql();
  if (name === 'mysql') return startMysql();
  if (name === 'firestore') return startFirestore();
  throw new Error(`there is no provider ${name}`);
}

async function startSqlite(): Promise<BenchProvider> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-sqlite-'));
  return {
    name: 'sqlite',
    about: 'node:sqlite, WAL, synchronous=FULL; waiting commits share a flush',
    async database() {
      const path = join(folder, randomBytes(8).toString('hex'), 'svc.sqlite');
      return {
        settings: ['CanonicalStore:Provider=sqlite', `CanonicalStore:DatabasePath=${path}`],
        open: () => openSqliteStore({ path, ...machine, grouping: true, collections }),
        bare: () => bareSqlite(path),
      };
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}

async function startPostgresql(): Promise<BenchProvider> {
  const server = await startPostgres(['shared_buffers=4GB']);
  const url = (database: string) =>
    `postgresql:///${database}?host=${encodeURIComponent(server.socketFolder)}&user=svc`;
  return {
    name: 'postgresql',
    about: `PostgreSQL on a Unix socket, fsync and synchronous_commit on, 4 GB of buffers, ${CONNECTIONS} connections`,
    async database() {
      const name = `bench_${randomBytes(6).toString('hex')}`;
      const { Client } = (await import('pg')).default;
      const client = new Client({ connectionString: url('postgres') });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return {
        settings: settingsOf('postgresql', url(name)),
        open: async () =>
          openPostgresStore({ connectionString: url(name), poolSize: CONNECTIONS, ...machine, collections }),
        bare: () => barePostgres(url(name), CONNECTIONS),
      };
    },
    stop: () => server.stop(),
  };
}

async function startMysql(): Promise<BenchProvider> {
  const { server, stop } = await startMysqlServer([
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=4G',
    '--innodb-log-file-size=512M',
  ]);
  return {
    name: 'mysql',
    about: `MariaDB on a Unix socket, innodb_flush_log_at_trx_commit=1, 4 GB of buffers, ${CONNECTIONS} connections`,
    async database() {
      const name = `bench_${randomBytes(6).toString('hex')}`;
      const connection = await createConnection({ ...server });
      await connection.query(`CREATE DATABASE ${name}`);
      await connection.end();
      const connectionString = mysqlUrl(server, name);
      return {
        settings: settingsOf('mysql', connectionString),
        open: async () => openMysqlStore({ connectionString, poolSize: CONNECTIONS, ...machine }),
        bare: () => bareMysql({ ...server, database: name }, CONNECTIONS),
      };
    },
    stop,
  };
}

function settingsOf(provider: string, connectionString: string): string[] {
  return [
    `CanonicalStore:Provider=${provider}`,
    `CanonicalStore:ConnectionString=${connectionString}`,
    `CanonicalStore:ConnectionsMax=${CONNECTIONS}`,
  ];
}

function mysqlUrl({ socketPath, user, password }: MysqlServer, database: string): string {
  const url = new URL(`mysql://localhost/${database}`);
  url.username = user;
  url.password = password;
  url.searchParams.set('socketPath', socketPath);
  return url.href;
}

async function startFirestore(): Promise<BenchProvider> {
  const emulator = await startFirestoreEmulator();
  return {
    name: 'firestore',
    about: 'the official Firestore emulator, whose times say nothing of the cloud',
    async database() {
      const projectId = `demo-${randomBytes(8).toString('hex')}`;
      const options = { projectId, emulatorHost: emulator.host, ...machine, collections };
      return {
        settings: [
          'CanonicalStore:Provider=firestore',
          `Firestore:ProjectId=${projectId}`,
          `Firestore:EmulatorHost=${emulator.host}`,
        ],
        open: async () => openFirestoreStore(options),
        bare: () => bareFirestore(projectId, emulator.host),
      };
    },
    stop: () => emulator.stop(),
  };
}
