import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreError } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { fullRecord, keyOf, put, randomScope, read, scanAll } from '../conformance/store-fixtures.ts';
import {
  postgresMissing,
  postgresOptions,
  postgresSchema,
  postgresSocketFolder,
} from '../support/postgres.ts';
import { openSession, openStore, openThrough } from './fixtures.ts';
import { type Proxy, startProxy } from './proxy.ts';

const unavailable = { name: 'StoreError', failure: 'unavailable' };

/** The error of the call; the test fails if the call succeeds. */
async function failureOf(call: Promise<unknown>): Promise<StoreError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
}

describe.skipIf(postgresMissing !== undefined)(`opening PostgreSQL ${postgresMissing ?? ''}`, () => {
  let session: Awaited<ReturnType<typeof openSession>>;
  let proxy: Proxy;

  beforeAll(async () => {
    session = await openSession('public');
    proxy = await startProxy();
  });
  afterAll(async () => {
    await session.end();
    await proxy.close();
  });

  test('opening makes no call, nor does closing an unused store', async () => {
    const store = openThrough(proxy, postgresSchema());
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    expect(proxy.connections).toBe(0);
    await expect(store.ping()).rejects.toMatchObject(unavailable);
  });

  test('many instances that start at once make one schema', async () => {
    const schema = postgresSchema();
    const stores = Array.from({ length: 8 }, () => openStore(schema, { poolSize: 2 }));
    const scope = randomScope();
    await Promise.all(stores.map((store, index) => put(store, scope, fullRecord(`${index}`))));
    expect(await scanAll(stores[0]!, scope, ['documents'])).toHaveLength(8);
    const { rows } = await session.query(`SELECT version FROM ${schema}.schema_versions`);
    expect(rows).toEqual([{ version: 1 }]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('concurrent first calls on a new instance prepare it once', async () => {
    const schema = postgresSchema();
    const store = openThrough(proxy, schema, { poolSize: 4 });
    let asked = 0;
    proxy.onRequest = (bytes) => {
      if (bytes.includes('to_regclass')) asked += 1;
      return 'pass';
    };
    await Promise.all([store.ping(), store.ping(), store.ping()]);
    expect(asked).toBe(1);
    await store.close();
    proxy.onRequest = () => 'pass';
  });

  test('a failed preparation is tried again by the next call', async () => {
    const store = openThrough(proxy, postgresSchema());
    proxy.onRequest = () => 'cut';
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    proxy.onRequest = () => 'pass';
    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
  });

  test('a schema written by a newer release is refused, and left alone', async () => {
    const schema = postgresSchema();
    const store = openStore(schema);
    await store.ping();
    await store.close();
    await session.query(`INSERT INTO ${schema}.schema_versions (version) VALUES (99)`);
    const late = openStore(schema);
    const error = await failureOf(late.ping());
    expect(error.failure).toBe('unavailable');
    expect(error.message).toMatch(/version 99, but this release knows 1 at most/);
    await failureOf(put(late, randomScope(), fullRecord('a')));
    await late.close();
  });

  test('a user without the right to create schemas can use an existing one', async () => {
    const schema = postgresSchema();
    const owner = openStore(schema);
    const scope = randomScope();
    await put(owner, scope, fullRecord('a'));
    await owner.close();
    await session.query(`CREATE ROLE ${schema} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${schema};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${schema}`);
    const connectionString = `host=${postgresSocketFolder()} dbname=postgres user=${schema}`;
    const guest = openStore(schema, { connectionString });
    await put(guest, scope, fullRecord('b'));
    expect(await read(guest, scope, keyOf('a'))).toBeDefined();
    await guest.close();
    const other = openStore(postgresSchema(), { connectionString });
    expect((await failureOf(other.ping())).message).toMatch(/permission denied/);
    await other.close();
  });

  test('a database that answers nothing is unavailable within the time set', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    const { port } = silent.address() as { port: number };
    const connectionString = `postgresql://svc:hunter2@127.0.0.1:${port}/svc`;
    const store = openPostgresStore({ ...postgresOptions(), connectionString, connectTimeoutMs: 200 });
    // Without the time limit the call would outlast the test.
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    await store.close();
    silent.close();
  });

  test('no error names the password, the host or a value', async () => {
    const secret = 'hunter2-swordfish';
    const strings = [
      `postgresql://svc:${secret}@127.0.0.1:1/${secret}`,
      `postgresql://${secret}:${secret}@no-such-host.invalid/db`,
      `host=/no/such/${secret} dbname=db user=u password=${secret}`,
      `host=${postgresSocketFolder()} dbname=db-not-there user=svc password='${secret}'`,
    ];
    for (const connectionString of strings) {
      const store = openStore(postgresSchema(), { connectionString, connectTimeoutMs: 2_000 });
      const error = await failureOf(store.ping());
      expect(error.failure).toBe('unavailable');
      expect(inspect(error, { depth: 9 })).not.toMatch(/swordfish|127\.0\.0\.1|invalid/);
      await store.close();
    }
    const store = openStore(postgresSchema());
    const scope = randomScope();
    const body = `${secret}\0`;
    const error = await failureOf(put(store, scope, fullRecord('a', { body })));
    expect(inspect(error, { depth: 9 })).not.toContain('swordfish');
    expect(await read(store, scope, keyOf('a'))).toBeUndefined();
    await store.close();
  });
});
