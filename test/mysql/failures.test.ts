import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordKey, RecordStore, Scope } from '../../functions/store/port.ts';
import {
  documents,
  fullRecord,
  keyOf,
  plain,
  put,
  randomScope,
  read,
  streamOf,
  together,
  transact,
} from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase, mysqlServer } from '../support/mysql.ts';
import { failed, killIdle, killWaiting, rowsOf, shown, until, waitingSessions } from './fixtures.ts';
import { openProxy } from './proxy.ts';

const [first, second] = [keyOf('a'), keyOf('b')];
const both = { keys: [{ key: first }, { key: second }] };
const count = (key: RecordKey, value: number) => ({ put: { key, head: { count: value } } });

describeMysql('MySQL that fails', () => {
  let database: MysqlDatabase;
  let store: RecordStore;

  beforeAll(async () => {
    database = await createMysqlDatabase();
    store = openMysqlStore({ ...database.options(), lockTimeoutMs: 10_000 });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  /** A session that holds one row, as another program's transaction would. */
  async function holding(sql: string) {
    const session = await database.connect();
    await session.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
    await session.query('START TRANSACTION');
    await session.query(sql);
    return session;
  }

  /** By its whole key: on another path the server may lock every row that it reads. */
  async function holdingRecord({ name }: Scope, { collection, id }: RecordKey) {
    const [live] = await rowsOf(database, `SELECT space FROM svc_scopes WHERE name = '${name}'`);
    const key = `space = ${String(live?.['space'])} AND collection = '${collection}' AND id = '${id}'`;
    return holding(`SELECT head FROM svc_records FORCE INDEX (PRIMARY) WHERE ${key} FOR UPDATE`);
  }

  /** The head of a record, also if a transaction under way has written it. */
  async function uncommittedHead(key: RecordKey): Promise<string> {
    const session = await database.connect();
    await session.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
    const [rows] = await session.query(`SELECT head FROM svc_records WHERE id = '${key.id}'`);
    await session.end();
    return String((rows as { head: Buffer }[])[0]?.head);
  }

  test('a connection lost between two writes keeps neither, and the store continues', async () => {
    const scope = randomScope();
    await transact(store, scope, [first, second], () => ({
      writes: [count(first, 1), count(second, 1)],
      result: 0,
    }));
    const holder = await holdingRecord(scope, second);
    let decided = 0;
    const call = store.transact(scope, both, () => {
      decided += 1;
      return { writes: [count(first, 2), count(second, 2)], result: null };
    });
    const outcome = failed('unavailable', call);
    // The first write is made, the second waits for the holder.
    await until(async () => decided === 1 && (await waitingSessions(database)).length > 0);
    expect(await uncommittedHead(first)).toBe('{"count":2}');
    await killWaiting(database);
    await outcome;
    await holder.end();
    const { records } = await store.query(scope, { by: 'keys', keys: both.keys });
    expect(records.map(({ head }) => head['count'])).toEqual([1, 1]);
    expect(decided).toBe(1);
    await transact(store, scope, [first], () => ({ writes: [count(first, 3)], result: null }));
    expect((await read(store, scope, first))?.head['count']).toBe(3);
  });

  test('a commit whose answer is lost is unavailable, and is not made twice', async () => {
    const proxy = await openProxy(database);
    const through = openMysqlStore({ ...database.options(), connectionString: proxy.connectionString });
    const scope = randomScope();
    await put(through, scope, { key: first, head: { count: 1 } });
    let decided = 0;
    proxy.loseAnswerTo('COMMIT');
    const call = through.transact(scope, both, (found) => {
      decided += 1;
      return { writes: [count(first, Number(found.get(first)?.head['count']) + 1)], result: null };
    });
    await failed('unavailable', call);
    expect(decided).toBe(1);
    expect((await read(store, scope, first))?.head['count']).toBe(2);
    expect((await read(through, scope, first))?.head['count']).toBe(2);
    await through.close();
    await proxy.close();
  });

  test('idle connections that broke are replaced', async () => {
    let now = Date.now();
    const patient = openMysqlStore({ ...database.options(), clock: { now: () => now } });
    const scope = randomScope();
    await put(patient, scope, fullRecord('a'));
    expect(await killIdle(database)).toBeGreaterThan(0);
    // The store tests connections that were idle for a while; it cannot see that a connection broke just now.
    now += 2_000;
    await put(patient, scope, fullRecord('b'));
    expect(await read(patient, scope, keyOf('b'))).toBeDefined();
    await patient.close();
  });

  test('a server that falls silent is unavailable within the time allowed', async () => {
    const proxy = await openProxy(database);
    const options = { ...database.options(), connectionString: proxy.connectionString };
    const through = openMysqlStore({
      ...options,
      poolSize: 1,
      queryTimeoutMs: 5_000,
      connectTimeoutMs: 5_000,
    });
    await through.ping();
    proxy.swallow();
    await failed('unavailable', through.ping());
    // Callers that wait for a connection fail together with the caller that opens it.
    await together(5, () => failed('unavailable', through.ping()));
    await through.close();
    await proxy.close();
  });

  test('a lock that stays taken is contention; one that is let go is waited for', async () => {
    const scope = randomScope();
    await put(store, scope, { key: first, head: { count: 1 } });
    const row = `SELECT space FROM svc_scopes WHERE name = '${scope.name}' FOR UPDATE`;
    let holder = await holding(row);
    const hasty = openMysqlStore({ ...database.options(), lockTimeoutMs: 1000 });
    let decided = 0;
    const increment = (by: RecordStore) =>
      by.transact(scope, both, (found) => {
        decided += 1;
        return { writes: [count(first, Number(found.get(first)?.head['count']) + 1)], result: null };
      });
    await failed('contention', increment(hasty));
    await hasty.close();
    // The first try decides before it waits; those after it wait first.
    expect(decided).toBe(1);
    const waiting = increment(store);
    await until(async () => (await waitingSessions(database)).length > 0);
    await holder.query(`UPDATE svc_records SET head = '{"count":41}' WHERE id = '${first.id}'`);
    await holder.query('COMMIT');
    await waiting;
    expect((await read(store, scope, first))?.head['count']).toBe(42);
    await holder.end();
    holder = await holding(row);
    // Reads do not wait.
    expect((await read(store, scope, first))?.head['count']).toBe(42);
    await holder.end();
  });

  test('after a deadlock the call is repeated with the records of the rival', async () => {
    const scope = randomScope();
    await transact(store, scope, [first, second], () => ({
      writes: [count(first, 1), count(second, 1)],
      result: 0,
    }));
    const rival = await holdingRecord(scope, second);
    // The server sacrifices the lighter of the two.
    await rival.query('CREATE TEMPORARY TABLE weight (n INT) ENGINE = InnoDB');
    await rival.query('INSERT INTO weight SELECT seq FROM seq_1_to_1000');
    const seen: number[] = [];
    const call = store.transact(scope, both, (found) => {
      const next = Number(found.get(second)?.head['count']) + 1;
      seen.push(next);
      return { writes: [count(first, next), count(second, next)], result: next };
    });
    await until(async () => (await waitingSessions(database)).length > 0);
    await rival.query(
      `UPDATE svc_records SET head = '{"count":7}' WHERE id IN ('${first.id}', '${second.id}')`,
    );
    await rival.query('COMMIT');
    await rival.end();
    expect(await call).toBe(8);
    expect(seen).toEqual([2, 8]);
  });

  test('carries values far over a megabyte, and refuses values over the limit of the server', async () => {
    const scope = randomScope();
    const body = (size: number) => JSON.stringify('"é😀'.repeat(size / 8));
    const parts = [1, 2, 3].map((order) => ({ of: second.id, order: `${order}`, body: body(2_000_000) }));
    const large = fullRecord('a', { body: body(3_000_000), parts });
    await put(store, scope, large, fullRecord('b', { body: body(4_000_000) }));
    expect(plain(await read(store, scope, first))).toEqual(plain(large));
    const before = await read(store, scope, second);
    const writes = [
      { put: fullRecord('a', { body: 'lost' }) },
      { put: fullRecord('b', { body: body(20_000_000) }) },
    ];
    await failed(
      'too_large',
      store.transact(scope, both, () => ({ writes, result: null })),
    );
    expect(plain(await read(store, scope, first))).toEqual(plain(large));
    expect(plain(await read(store, scope, second))).toEqual(plain(before));
  });

  test('loads in packets of about a megabyte', async () => {
    const proxy = await openProxy(database);
    const through = openMysqlStore({ ...database.options(), connectionString: proxy.connectionString });
    const records = Array.from({ length: 60 }, (_, index) =>
      fullRecord(`${index}`, { body: JSON.stringify('"'.repeat(100_000)) }),
    );
    await through.swap(randomScope(), streamOf(records), () => undefined);
    expect(proxy.largest).toBeGreaterThan(400_000);
    expect(proxy.largest).toBeLessThan(2_000_000);
    await through.close();
    await proxy.close();
  });

  test('no error shows a value, an address or the password', async () => {
    const scope = randomScope();
    const secret = 'secret-value';
    const listing = { group: 'g', id: `${secret}${'x'.repeat(2000)}`, hidden: false, indexes: {} };
    const tooLong = await failed('too_large', put(store, scope, fullRecord('a', { listing })));
    const part = { of: second.id, order: secret, body: secret };
    const twice = await failed('corrupt', put(store, scope, fullRecord('a', { parts: [part, part] })));
    for (const error of [tooLong, twice]) expect(shown(error)).not.toContain(secret);
    const { password } = mysqlServer();
    const wrong = database.connectionString.replace(password, 'wrong-password');
    const refusedStore = openMysqlStore({ ...database.options(), connectionString: wrong });
    const refused = await failed('unavailable', refusedStore.ping());
    await refusedStore.close();
    expect(refused.message).toBe('MySQL: error 1045 (ER_ACCESS_DENIED_ERROR)');
    for (const word of ['wrong-password', password, database.name])
      expect(shown(refused)).not.toContain(word);
    expect(await store.query(scope, { by: 'list', collection: documents, limit: 5 })).toMatchObject({
      records: [],
    });
  });
});

describe('MySQL that is not there', () => {
  const options = (port: number) => ({
    connectionString: `mysql://svc:secret@127.0.0.1:${port}/data`,
    ...machine,
    connectTimeoutMs: 300,
  });

  async function listen(connected: () => void) {
    const server = createServer((socket) => {
      connected();
      socket.on('error', () => undefined).resume();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return { server, port: (server.address() as { port: number }).port };
  }

  test('is not contacted by opening and closing', async () => {
    let connections = 0;
    const { server, port } = await listen(() => {
      connections += 1;
    });
    const store = openMysqlStore(options(port));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    // A client that connected before this one is taken before it.
    const own = connect(port, '127.0.0.1').end('own').resume();
    await once(own, 'close');
    expect(connections).toBe(1);
    await store.close();
    await failed('unavailable', store.ping());
    expect(connections).toBe(1);
    server.close();
  });

  test('is unavailable: to all that wait, whether it is silent or refuses', async () => {
    const { server, port } = await listen(() => undefined);
    const silent = openMysqlStore({ ...options(port), poolSize: 1 });
    const calls = Array.from({ length: 5 }, () => failed('unavailable', silent.ping()));
    for (const error of await Promise.all(calls)) {
      expect(error.message).toBe('MySQL: the connection failed: ETIMEDOUT');
      expect(shown(error)).not.toContain('secret');
    }
    await silent.close();
    server.close();
    // Time is not what ends these calls.
    const refusing = openMysqlStore({ ...options(port), connectTimeoutMs: 60_000 });
    const error = await failed('unavailable', refusing.ping());
    expect(error.message).toMatch(/^MySQL: the connection failed: ECONN/);
    await failed('unavailable', refusing.ping());
    await refusing.close();
  });
});
