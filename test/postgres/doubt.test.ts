import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { keyOf, put, read, scanAll } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema, postgresUrl } from '../support/postgres.ts';
import { isCommit, openSession, openStore, poll, usedScope, waitersOf } from './fixtures.ts';
import { type Proxy, startProxy } from './proxy.ts';

const unavailable = { name: 'StoreError', failure: 'unavailable' };

/** Connections that are lost in the middle of a transaction, so that its outcome is unknown. */
describe.skipIf(postgresMissing !== undefined)(
  `lost connections to PostgreSQL ${postgresMissing ?? ''}`,
  () => {
    const schema = postgresSchema();
    let proxy: Proxy;
    let store: RecordStore;
    let plain: RecordStore;
    let rival: Awaited<ReturnType<typeof openSession>>;
    let watcher: Awaited<ReturnType<typeof openSession>>;
    let decisions = 0;

    beforeAll(async () => {
      proxy = await startProxy();
      store = openStore(schema, {
        connectionString: `${postgresUrl(proxy.folder)}&application_name=${schema}`,
        poolSize: 2,
      });
      plain = openStore(schema);
      await plain.ping();
      [rival, watcher] = await Promise.all([openSession(schema), openSession(schema)]);
    });
    afterEach(async () => {
      proxy.onRequest = () => 'pass';
      proxy.onAnswer = () => 'pass';
      await rival.query('ROLLBACK');
    });
    afterAll(async () => {
      await Promise.all([store.close(), plain.close(), rival.end(), watcher.end()]);
      await proxy.close();
    });

    const pair = [keyOf('one'), keyOf('two')] as const;
    const counts = async (scope: Scope) =>
      Promise.all(pair.map(async (key) => (await read(plain, scope, key))?.head['count']));

    /** Both records count together, or neither. */
    function increment(on: RecordStore, scope: Scope): Promise<number> {
      decisions = 0;
      return on.transact(scope, { keys: pair.map((key) => ({ key })) }, (found) => {
        decisions += 1;
        const count = Number(found.get(pair[0])?.head['count'] ?? 0) + 1;
        return { writes: pair.map((key) => ({ put: { key, head: { count } } })), result: count };
      });
    }

    async function openScope(): Promise<Scope> {
      const scope = await usedScope(plain);
      expect(await increment(plain, scope)).toBe(1);
      return scope;
    }

    test('lost before the COMMIT arrived: nothing is written, and nothing is tried again', async () => {
      const scope = await openScope();
      proxy.onRequest = (bytes) => (isCommit(bytes) ? 'cut' : 'pass');
      await expect(increment(store, scope)).rejects.toMatchObject(unavailable);
      expect(decisions).toBe(1);
      expect(await counts(scope)).toEqual([1, 1]);
      proxy.onRequest = () => 'pass';
      expect(await increment(store, scope)).toBe(2);
    });

    test('lost after the COMMIT was made: all of it is written once, and the caller gets an unknown outcome', async () => {
      const scope = await openScope();
      let asked = false;
      proxy.onRequest = (bytes) => {
        asked ||= isCommit(bytes);
        return 'pass';
      };
      proxy.onAnswer = () => (asked ? 'cut' : 'pass');
      await expect(increment(store, scope)).rejects.toMatchObject(unavailable);
      expect(decisions).toBe(1);
      await poll(async () => ((await counts(scope))[0] === 2 ? true : undefined));
      expect(await counts(scope)).toEqual([2, 2]);
    });

    test('a session that is ended while it waits for a lock', async () => {
      const scope = await openScope();
      await rival.query('BEGIN');
      await rival.query('SELECT 1 FROM records WHERE id = $1 FOR UPDATE', [pair[1].id]);
      const call = increment(store, scope);
      const caught = expect(call).rejects.toMatchObject(unavailable);
      const [pid] = await waitersOf(rival, watcher);
      await watcher.query('SELECT pg_terminate_backend($1)', [pid]);
      await caught;
      await rival.query('ROLLBACK');
      expect(await counts(scope)).toEqual([1, 1]);
      expect(await increment(store, scope)).toBe(2);
    });

    test('a session that is ended between two writes', async () => {
      const scope = await openScope();
      const [stray, also] = [keyOf('stray'), keyOf('also')];
      await rival.query('BEGIN');
      await rival.query(
        `INSERT INTO records (space, part_bytes, hidden, collection, id, head, listing_id)
        SELECT space, 0, false, 'documents', $1, '{}', '' FROM scopes WHERE name = $2`,
        [stray.id, scope.name],
      );
      const keys = [...pair, stray, also].map((key) => ({ key }));
      const writes = [...pair, stray, also].map((key) => ({ put: { key, head: { count: 7 } } }));
      const call = store.transact(scope, { keys }, () => ({ writes, result: null }));
      const caught = expect(call).rejects.toMatchObject(unavailable);
      const [pid] = await waitersOf(rival, watcher);
      await watcher.query('SELECT pg_terminate_backend($1)', [pid]);
      await caught;
      await rival.query('ROLLBACK');
      expect(await counts(scope)).toEqual([1, 1]);
      expect(await read(plain, scope, also)).toBeUndefined();
    });

    test('idle sessions that end are replaced', async () => {
      const scope = await openScope();
      await increment(store, scope);
      const end = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
      await watcher.query(end, [schema]);
      const again = await poll(async () => increment(store, scope).catch(() => undefined));
      expect(again).toBe(3);
    });

    test('a claim with a lost COMMIT wins nothing, and its records are free', async () => {
      const scope = await openScope();
      await put(plain, scope, { key: pair[0], head: {}, due: 5 });
      const collection = { name: pair[0].collection, pairedIndexes: true };
      const request = { now: 9, limit: 1 };
      const take = (record: { key: (typeof pair)[0] }) => ({
        put: { ...record, head: {}, due: null },
        result: 1,
      });
      proxy.onRequest = (bytes) => (isCommit(bytes) ? 'cut' : 'pass');
      await expect(store.claim(scope, collection, request, take)).rejects.toMatchObject(unavailable);
      expect(await plain.claim(scope, collection, request, take)).toEqual([1]);
    });

    test('a scan with a lost connection fails, and frees its place', async () => {
      const scope = await openScope();
      for (let turn = 0; turn < 6; turn += 1) {
        proxy.onAnswer = (bytes) => (bytes.includes('part_bodies') ? 'cut' : 'pass');
        await expect(scanAll(store, scope, ['documents'], 1)).rejects.toMatchObject(unavailable);
      }
      proxy.onAnswer = () => 'pass';
      expect(await scanAll(store, scope, ['documents'], 1)).toHaveLength(2);
    });

    test('an abandoned scan does not delay the close', async () => {
      const scope = await openScope();
      const brief = openStore(schema);
      const pages = brief.scan(scope, { collections: ['documents'], pageSize: 1 })[Symbol.asyncIterator]();
      expect((await pages.next()).done).toBe(false);
      await brief.close();
      await expect(pages.next()).rejects.toMatchObject(unavailable);
    });

    test('no connection returns to the pool with an open transaction, also after a decision that throws', async () => {
      const scope = await openScope();
      const connectionString = `${postgresUrl()}&application_name=${schema}_few`;
      const few = openStore(schema, { poolSize: 1, connectionString });
      const keys = pair.map((key) => ({ key }));
      const refusal = new Error('refused');
      const throwing = (): never => {
        throw refusal;
      };
      for (let turn = 0; turn < 5; turn += 1) {
        await expect(few.transact(scope, { keys }, throwing)).rejects.toBe(refusal);
        await few.transact(scope, { keys }, () => ({ writes: [], result: null }));
        await few.ping();
        const { rows } = await watcher.query(
          `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND state LIKE 'idle in transaction%'`,
          [`${schema}_few`],
        );
        expect(rows).toEqual([]);
      }
      expect(await increment(few, scope)).toBe(2);
      await few.close();
    });
  },
);
