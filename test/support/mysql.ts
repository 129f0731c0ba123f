import { randomBytes } from 'node:crypto';
import { type Connection, createConnection } from 'mysql2/promise';
import { describe, inject } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { MysqlServer } from './mysql-setup.ts';

const provided = inject('mysql');

/** Why tests against MariaDB are left out of this run; `undefined` when a server answers. */
export const mysqlMissing = 'reason' in provided ? provided.reason : undefined;

/** Tests that need the server; without it they are left out, and their title says why. */
export function describeMysql(title: string, tests: () => void): void {
  const reason = mysqlMissing === undefined ? '' : ` (skipped: ${mysqlMissing})`;
  describe.skipIf(mysqlMissing !== undefined)(`${title}${reason}`, tests);
}

export function mysqlServer(): MysqlServer {
  if ('reason' in provided) throw new Error(provided.reason);
  return provided;
}

/** A database of its own, so that a file needs no clearing. */
export interface MysqlDatabase {
  readonly name: string;
  readonly connectionString: string;
  /** The options that open a store. */
  options(): ReturnType<typeof optionsOf>;
  /** A session beside the store's own, to look behind its back. The caller ends it. */
  connect(): Promise<Connection>;
  drop(): Promise<void>;
}

export async function createMysqlDatabase(): Promise<MysqlDatabase> {
  const server = mysqlServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  const connectionString = mysqlUrl(server, name);
  const connect = (database?: string) =>
    createConnection({ ...server, ...(database === undefined ? {} : { database }) });
  const run = async (sql: string): Promise<void> => {
    const connection = await connect();
    await connection.query(sql);
    await connection.end();
  };
  // Not the collation that the tables should have: they must not depend on it.
  await run(`CREATE DATABASE ${name} CHARACTER SET latin1 COLLATE latin1_german2_ci`);
  return {
    name,
    connectionString,
    options: () => optionsOf(connectionString),
    connect: () => connect(name),
    drop: () => run(`DROP DATABASE IF EXISTS ${name}`),
  };
}

export function mysqlUrl({ socketPath, user, password }: MysqlServer, database: string): string {
  const url = new URL(`mysql://localhost/${database}`);
  url.username = user;
  url.password = password;
  url.searchParams.set('socketPath', socketPath);
  return url.href;
}

function optionsOf(connectionString: string) {
  return { connectionString, ...machine };
}
