import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { TenantClient } from '../support/canonical.ts';
import {
  createMysqlDatabase,
  describeMysql,
  type MysqlDatabase,
  mysqlServer,
  mysqlUrl,
} from '../support/mysql.ts';
import { postgresMissing, postgresOptions, postgresSchema, postgresUrl } from '../support/postgres.ts';

/** A second login takes the place of the first, as `docs/operating.md` says: no commit is refused in between. */

/** Opens a store as the login of that name. */
type OpenAs = (login: string) => RecordStore;

async function rotate(openAs: OpenAs, first: string, second: string, removeFirst: () => Promise<void>) {
  const old = openAs(first);
  const { tenantId } = new TenantClient(old);
  let written = 0;
  const commit = async (store: RecordStore) => {
    written += 1;
    const tenant = new TenantClient(store, tenantId);
    await tenant.commit({ mutations: [tenant.upsert(`doc-${written}`)] });
  };
  await commit(old);
  const next = openAs(second);
  // Instances of both logins serve until the last old one has stopped.
  for (const store of [next, old, next]) await commit(store);
  await old.close();
  await removeFirst();
  await commit(next);
  const { items } = await new TenantClient(next, tenantId).query({ documentType: 'claim' });
  expect(items).toHaveLength(written);
  await next.close();
  const late = openAs(first);
  await expect(commit(late)).rejects.toMatchObject({ name: 'StoreError', failure: 'unavailable' });
  await late.close();
}

const loginOf = (name: string) => `${name}_${randomBytes(6).toString('hex')}`;

describe.skipIf(postgresMissing !== undefined)(`a login of PostgreSQL ${postgresMissing ?? ''}`, () => {
  const [first, second] = [loginOf('first'), loginOf('second')];
  const schema = postgresSchema();
  let admin: Client;
  beforeAll(async () => {
    admin = new Client({ connectionString: postgresUrl() });
    await admin.connect();
    await admin.query(`CREATE ROLE ${first} LOGIN; GRANT CREATE ON DATABASE postgres TO ${first}`);
    await admin.query(`CREATE ROLE ${second} LOGIN IN ROLE ${first}`);
  });
  afterAll(() => admin.end());

  test('is replaced by one that is a member of it', async () => {
    const openAs: OpenAs = (login) => {
      const connectionString = postgresUrl().replace('user=svc', `user=${login}`);
      return openPostgresStore({ ...postgresOptions(schema), connectionString });
    };
    await rotate(openAs, first, second, async () => {
      await admin.query(`ALTER ROLE ${first} NOLOGIN`);
    });
  });
});

describeMysql('a login of MariaDB', () => {
  const [first, second] = [loginOf('first'), loginOf('second')];
  let database: MysqlDatabase;
  beforeAll(async () => {
    database = await createMysqlDatabase();
    const session = await database.connect();
    for (const login of [first, second]) {
      await session.query(`CREATE USER '${login}'@'localhost' IDENTIFIED BY 'secret-${login}'`);
      await session.query(`GRANT ALL PRIVILEGES ON \`${database.name}\`.* TO '${login}'@'localhost'`);
    }
    await session.end();
  });
  afterAll(() => database.drop());

  test('is replaced by one with the same grants', async () => {
    const openAs: OpenAs = (login) => {
      const server = { ...mysqlServer(), user: login, password: `secret-${login}` };
      return openMysqlStore({ ...database.options(), connectionString: mysqlUrl(server, database.name) });
    };
    await rotate(openAs, first, second, async () => {
      const session = await database.connect();
      await session.query(`DROP USER '${first}'@'localhost'`);
      await session.end();
    });
  });
});
