import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { events, keyOf, put, read } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema, postgresUrl } from '../support/postgres.ts';
import { openSession, openStore, poll, usedScope } from './fixtures.ts';

const poolSize = 4;

/** One instance with fewer connections than callers. */
describe.skipIf(postgresMissing !== undefined)(`a crowd at PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let store: RecordStore;
  let rival: Awaited<ReturnType<typeof openSession>>;
  let watcher: Awaited<ReturnType<typeof openSession>>;

  beforeAll(async () => {
    const connectionString = `${postgresUrl()}&application_name=${schema}`;
    store = openStore(schema, { connectionString, poolSize, connectTimeoutMs: 2_000 });
    await store.ping();
    [rival, watcher] = await Promise.all([openSession(schema), openSession(schema)]);
  });
  afterAll(async () => {
    await Promise.all([store.close(), rival.end(), watcher.end()]);
  });

  const update = (scope: Scope) => put(store, scope, { key: keyOf('hot'), head: {} });

  /** The first record of each is held by the rival. */
  async function holding(...scopes: readonly Scope[]): Promise<void> {
    for (const scope of scopes) await update(scope);
    await rival.query('BEGIN');
    await rival.query('SELECT 1 FROM records WHERE id = $1 FOR UPDATE', [keyOf('hot').id]);
  }

  /** Waits until `count` sessions of the store wait for a lock, some behind each other. */
  const waiting = (count: number) =>
    poll(async () => {
      const { rows } = await watcher.query(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
        [schema],
      );
      return rows.length >= count ? rows.length : undefined;
    });

  test('a scope whose record is hot leaves connections to the others', async () => {
    const [hot, calm] = [await usedScope(store), await usedScope(store)];
    await holding(hot);
    const writes = Array.from({ length: 2 * poolSize }, () => update(hot));
    const claims = Array.from({ length: poolSize }, () =>
      store.claim(hot, events, { now: 0, limit: 1 }, () => null),
    );
    await waiting(poolSize / 2);
    await put(store, calm, { key: keyOf('calm'), head: {} });
    expect(await read(store, calm, keyOf('calm'))).toBeDefined();
    await rival.query('COMMIT');
    await Promise.all([...writes, ...claims]);
  });

  test('a call that finds all connections busy may be repeated: it wrote nothing', async () => {
    const [one, other] = [await usedScope(store), await usedScope(store)];
    await holding(one, other);
    const writes = [one, other].flatMap((scope) => Array.from({ length: poolSize / 2 }, () => update(scope)));
    await waiting(poolSize);
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError', failure: 'contention' });
    await rival.query('COMMIT');
    await Promise.all(writes);
  });
});
