import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import type { RecordData, RecordKey, RecordStore, Scope } from '../port.ts';
import { recordId } from '../record-id.ts';
import { Connection } from './connection.ts';
import { openSqliteStore, type SqliteStoreOptions } from './store.ts';

const scope: Scope = { kind: 'system', name: 'test' };
const collection = { name: 'counters', pairedIndexes: true };
let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqlite-'));
  path = join(folder, 'data', 'store.db');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function open(options: Partial<SqliteStoreOptions> = {}): Promise<RecordStore> {
  return openSqliteStore({ path, ...machine, ...options });
}

function keyOf(name: string): RecordKey {
  return { collection: collection.name, id: recordId(name) };
}

function listed(name: string, body = '{}'): RecordData {
  const listing = { group: 'all', id: name, hidden: false, indexes: { rank: name } };
  return {
    key: keyOf(name),
    head: { name },
    body,
    listing,
    parts: [{ of: recordId('of'), order: name, body }],
  };
}

async function put(store: RecordStore, ...records: RecordData[]): Promise<void> {
  const keys = records.map(({ key }) => ({ key }));
  const writes = records.map((record) => ({ put: record }));
  await store.transact(scope, { keys }, () => ({ writes, result: null }));
}

async function countIn(store: RecordStore): Promise<unknown> {
  const page = await store.query(scope, { by: 'keys', keys: [{ key: keyOf('n') }] });
  return page.records[0]?.head['count'];
}

function increment(store: RecordStore): Promise<number> {
  const key = keyOf('n');
  return store.transact(scope, { keys: [{ key }] }, (found) => {
    const count = Number(found.get(key)?.head['count'] ?? 0) + 1;
    return { writes: [{ put: { key, head: { count } } }], result: count };
  });
}

/** Counts rows in the file, without the store. */
function rowsOf(table: string): number {
  const connection = new Connection(path, { readOnly: true, busyTimeoutMs: 5000 });
  const row = connection.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
  connection.close();
  return row?.n ?? -1;
}

describe('opening', () => {
  test('makes the folder and keeps what was written before', async () => {
    const first = await open();
    await put(first, listed('a', '{"kept":true}'));
    await first.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    const second = await open();
    const page = await second.query(scope, { by: 'keys', keys: [{ key: keyOf('a'), view: 'parts' }] });
    expect(page.records[0]).toMatchObject(listed('a', '{"kept":true}'));
    await second.close();
  });

  test('refuses a file of a newer release and leaves it alone', async () => {
    await (await open()).close();
    const connection = new Connection(path, { readOnly: false, busyTimeoutMs: 5000 });
    connection.exec('PRAGMA user_version = 99');
    connection.close();
    await expect(open()).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringMatching(/schema version 99.*newer release/) as unknown,
    });
  });

  test('to read a file without the tables of searches, which a search names', async () => {
    const first = await open();
    await put(first, listed('a', '{"kept":true}'));
    await first.close();
    const connection = new Connection(path, { readOnly: false, busyTimeoutMs: 5000 });
    // As a file of an earlier release is; one of an earlier preview lacks some of them.
    connection.exec('DROP TABLE search_groups; DROP TABLE search_versions');
    connection.close();
    const store = await open({ readOnly: true });
    const page = await store.query(scope, { by: 'keys', keys: [{ key: keyOf('a') }] });
    expect(page.records).toHaveLength(1);
    const asked = { collection: collection.name, group: 'all', terms: ['one'], max: 9 };
    const message =
      'the database has not the tables of searches that this release reads: start the service once, which makes them';
    const counts = store.snapshot(scope, (moment) => moment.wordCounts!.counts(asked));
    await expect(counts).rejects.toMatchObject({ name: 'StoreError', failure: 'unavailable', message });
    await store.close();
  });

  test('names a file that is no database, and a folder that cannot be created', async () => {
    const file = join(folder, 'text');
    await writeFile(file, 'not a database, but long enough to hold the header of one: '.repeat(40));
    await expect(open({ path: file })).rejects.toMatchObject({ name: 'StoreError', failure: 'corrupt' });
    await expect(open({ path: join(file, 'store.db') })).rejects.toMatchObject({ failure: 'unavailable' });
  });
});

describe('closing', () => {
  test('answers the waiting calls, then refuses every verb', async () => {
    const store = await open();
    const waiting = Array.from({ length: 20 }, () => increment(store));
    await store.close();
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const refused = { name: 'StoreError', failure: 'unavailable' };
    const nothing = async function* (): AsyncGenerator<RecordData> {};
    const scan = store.scan(scope, { collections: ['counters'], pageSize: 1 })[Symbol.asyncIterator]();
    await expect(increment(store)).rejects.toMatchObject(refused);
    await expect(store.query(scope, { by: 'keys', keys: [] })).rejects.toMatchObject(refused);
    await expect(store.claim(scope, collection, { now: 1, limit: 1 }, () => null)).rejects.toMatchObject(
      refused,
    );
    await expect(scan.next()).rejects.toMatchObject(refused);
    await expect(store.swap(scope, nothing(), () => undefined)).rejects.toMatchObject(refused);
    await expect(store.ping()).rejects.toMatchObject(refused);
    await expect(store.close()).resolves.toBeUndefined();
  });

  test('ends a scan that is under way', async () => {
    const store = await open();
    await put(store, ...['a', 'b', 'c'].map((name) => listed(name)));
    const scan = store.scan(scope, { collections: ['counters'], pageSize: 1 })[Symbol.asyncIterator]();
    await scan.next();
    await store.close();
    await expect(scan.next()).rejects.toMatchObject({ failure: 'unavailable' });
  });
});

describe('two on one file', () => {
  test('two stores of one process lose no increment, and see each other at once', async () => {
    const stores = [await open(), await open({ grouping: false })] as const;
    await Promise.all(Array.from({ length: 100 }, (_, index) => increment(stores[index % 2 === 0 ? 0 : 1])));
    for (const store of stores) expect(await countIn(store)).toBe(100);
    await stores[0].swap(scope, streamOf([listed('a')]), () => undefined);
    expect(await countIn(stores[1])).toBeUndefined();
    expect(await increment(stores[1])).toBe(1);
    expect(await countIn(stores[0])).toBe(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('two processes that create the file together lose no increment', async () => {
    const [one, other] = [child(150), child(150)];
    const codes = await Promise.all(
      [one, other].map(async (each) => (await once(each, 'exit'))[0] as number),
    );
    expect(codes).toEqual([0, 0]);
    const store = await open();
    expect(await countIn(store)).toBe(300);
    await store.close();
  });

  test('a killed process loses nothing that it was answered', async () => {
    const killed = child(1_000_000);
    let answered = 0;
    for await (const line of createInterface({ input: killed.stdout! })) {
      answered = Number(line);
      if (answered === 50) killed.kill('SIGKILL');
    }
    expect(answered).toBeGreaterThanOrEqual(50);
    const store = await open();
    const count = Number(await countIn(store));
    expect(count).toBeGreaterThanOrEqual(answered);
    expect(await increment(store)).toBe(count + 1);
    await store.close();
  });
});

function child(times: number): ChildProcess {
  const script = fileURLToPath(new URL('./increment.fixture.ts', import.meta.url));
  return spawn(process.execPath, [script, path, `${times}`], { stdio: ['ignore', 'pipe', 'inherit'] });
}

describe('swap', () => {
  test('sweeps replaced spaces and failed loads', async () => {
    const store = await open();
    const many = Array.from({ length: 900 }, (_, index) => listed(`${index}`));
    await store.swap(scope, streamOf(many), () => undefined);
    await store.swap(scope, streamOf([listed('kept')]), () => undefined);
    const failing = store.swap(scope, streamOf(many), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    await expect.poll(() => rowsOf('spaces')).toBe(1);
    expect([rowsOf('records'), rowsOf('entries'), rowsOf('parts')]).toEqual([1, 1, 1]);
    await store.close();
  });

  test('opening sweeps a load that was abandoned long ago, and no other', async () => {
    const store = await open();
    const unfinished = Promise.withResolvers<void>();
    const swap = store.swap(scope, streamOf([listed('a')]), () => unfinished.promise);
    await expect.poll(() => rowsOf('records')).toBe(1);
    await (await open()).close();
    expect(rowsOf('records')).toBe(1);
    const late = await open({ clock: { now: () => Date.now() + 2 * 60 * 60 * 1000 } });
    await expect.poll(() => rowsOf('spaces')).toBe(0);
    unfinished.resolve();
    await expect(swap).rejects.toMatchObject({ failure: 'contention' });
    expect(rowsOf('records')).toBe(0);
    await Promise.all([store.close(), late.close()]);
  });
});

describe('paging', () => {
  test('an exact last page has no next', async () => {
    const store = await open();
    await put(store, ...['a', 'b', 'c', 'd'].map((name) => listed(name)));
    for (const asked of [
      {},
      { group: 'all' },
      { orderBy: 'rank' },
      { range: { index: 'rank', from: 'a' } },
    ]) {
      const list = { by: 'list', collection, ...asked } as const;
      const whole = await store.query(scope, { ...list, limit: 4 });
      expect([whole.records.length, whole.next]).toEqual([4, null]);
      const first = await store.query(scope, { ...list, limit: 2 });
      const second = await store.query(scope, { ...list, limit: 2, after: first.next ?? '' });
      expect([second.records.length, second.next]).toEqual([2, null]);
    }
    const parts = { by: 'parts', collection, of: recordId('of'), direction: 'ascending' } as const;
    expect((await store.query(scope, { ...parts, limit: 4 })).next).toBeNull();
    await store.close();
  });

  test('a list with few matches ends its page early, and continues where it stopped', async () => {
    const store = await open();
    const hidden = { group: 'all', hidden: true, indexes: {} };
    const records = Array.from({ length: 7000 }, (_, index) => {
      const name = `${index}`.padStart(6, '0');
      return index === 6900 ? listed(name) : { ...listed(name), listing: { ...hidden, id: name } };
    });
    await store.swap(scope, streamOf(records), () => undefined);
    const list = { by: 'list', collection, limit: 10 } as const;
    const first = await store.query(scope, list);
    expect(first.records).toEqual([]);
    const second = await store.query(scope, { ...list, after: first.next ?? '' });
    expect([second.records.map(({ head }) => head['name']), second.next]).toEqual([['006900'], null]);
    await store.close();
  });
});

async function* streamOf(records: Iterable<RecordData>): AsyncGenerator<RecordData> {
  for (const record of records) yield record;
}
