import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { ByteOwner, RecordData, RecordStore, Scope } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { Meter } from './meter.ts';
import { meteredStore } from './metered-store.ts';
import { readUse, USAGE_SCOPE } from './usage-store.ts';

const SETTING = 'Quotas:TenantBytesMax';
const scope: Scope = { kind: 'tenants', name: 'a' };
const owner: ByteOwner = { kind: 'tenants', name: 'a' };
const other: ByteOwner = { kind: 'tenants', name: 'b' };
const runs: Scope = { kind: 'system', name: 'execution' };
const keyOf = (id: string) => ({ collection: 'documents', id: recordId(id) });

function processOn(
  database: MemoryDatabase,
  {
    limit = Infinity,
    bytesPerMinute = Infinity,
    world = new ManualWorld(),
    shard = 0,
    onFailure = (error: unknown): void => {
      throw error;
    },
  } = {},
) {
  const store: RecordStore = new MemoryStore(database);
  const spied = vi.spyOn(store, 'transact');
  const queries = vi.spyOn(store, 'query');
  const warned: string[] = [];
  const meter = new Meter({
    store: () => Promise.resolve(store),
    world,
    shard,
    limitOf: () => ({ bytes: limit, setting: SETTING }),
    bytesPerMinute,
    onFailure,
    onNearLimit: ({ name }) => warned.push(name),
  });
  meteredStore(store, meter);
  const put = (
    id: string,
    text: string,
    { grows = 'request', isRun = false }: { grows?: 'request' | 'job' | false; isRun?: boolean } = {},
  ) =>
    store.transact(isRun ? runs : scope, { keys: [{ key: keyOf(id) }] }, () => {
      const record: RecordData = { key: keyOf(id), head: {}, body: text };
      return { writes: [{ put: record }], result: null, grows, ...(isRun ? { owner } : {}) };
    });
  const remove = (id: string, from: Scope = scope) =>
    store.transact(from, { keys: [{ key: keyOf(id) }] }, (found) => ({
      writes: found.get(keyOf(id)) === undefined ? [] : [{ remove: keyOf(id) }],
      result: null,
    }));
  return { store, meter, world, put, remove, spied, queries, warned };
}

const bytesOf = async (store: RecordStore) => {
  const { data, runs: ofRuns } = await readUse(store, owner);
  return data + ofRuns;
};

describe('the use of an owner', () => {
  const change = fc.record({
    id: fc.constantFrom('1', '2', '3'),
    text: fc.option(fc.string({ maxLength: 40 })),
    isRun: fc.boolean(),
    process: fc.nat(1),
  });

  test('is the sum of its records, whichever process wrote and removed them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
        const database = new MemoryDatabase();
        const processes = [processOn(database), processOn(database, { shard: 1 })] as const;
        const kept = new Map<string, number>();
        for (const { id, text, isRun, process } of changes) {
          const { put, remove } = processes[process as 0 | 1];
          const name = `${isRun} ${id}`;
          if (text === null) {
            await remove(id, isRun ? runs : scope);
            kept.delete(name);
          } else {
            await put(id, text, { isRun });
            kept.set(name, 256 + Buffer.byteLength(text));
          }
        }
        for (const { meter } of processes) await meter.flush();
        const sum = [...kept.values()].reduce((all, bytes) => all + bytes, 0);
        expect(await bytesOf(processes[0].store)).toBe(sum);
        expect(await readUse(processes[0].store, other)).toEqual({ data: 0, runs: 0 });
      }),
    );
  });

  test('counts parts, vectors and bytes in the blob store, and is unchanged when heads alone change', async () => {
    const { store, meter } = processOn(new MemoryDatabase());
    const key = keyOf('1');
    const record: RecordData = {
      key,
      head: { name: 'abc' },
      body: 'ä',
      parts: [{ of: recordId('p'), order: '1', body: 'part' }],
      keptOutside: { bytes: 1_000, isNew: true },
    };
    await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [{ put: record }], result: null }));
    await store.transact(scope, { keys: [{ key }] }, () => ({
      writes: [{ put: { key, head: {} } }],
      result: null,
    }));
    await meter.flush();
    expect(await bytesOf(store)).toBe(256 + 3 + 2 + 4 + 1_000);
  });

  test('is the size of the restored records after a restore', async () => {
    const { store, meter, put } = processOn(new MemoryDatabase());
    await put('1', 'x'.repeat(500));
    async function* records() {
      yield { key: keyOf('2'), head: {}, body: 'four' };
    }
    await store.swap(scope, records(), () => {});
    await meter.flush();
    expect(await bytesOf(store)).toBe(256 + 4);
  });
});

describe('a limit', () => {
  test('refuses a growing write beyond the quota without writing, and accepts all other writes', async () => {
    const { store, put, remove, meter } = processOn(new MemoryDatabase(), { limit: 1_000 });
    await put('1', 'x'.repeat(500));
    const refused = put('2', 'x'.repeat(500));
    await expect(refused).rejects.toMatchObject({
      code: 'quota_exceeded',
      extensions: { limit: 1_000, used: 756, setting: SETTING },
    });
    expect((await store.query(scope, { by: 'keys', keys: [{ key: keyOf('2') }] })).records).toEqual([]);
    await expect(put('3', 'x'.repeat(500), { isRun: true })).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
    // A write that ends work may grow the use, and a smaller replacement does not grow it.
    await put('4', 'x'.repeat(900), { grows: false });
    await put('1', 'x'.repeat(400));
    await remove('4');
    await remove('1');
    await put('2', 'x'.repeat(500));
    await meter.flush();
    expect(await bytesOf(store)).toBe(756);
  });

  test('answers before bytes are written elsewhere, and counts nothing', async () => {
    const database = new MemoryDatabase();
    const { put, meter } = processOn(database, { limit: 1_000 });
    await put('1', 'x'.repeat(500));
    await meter.flush();
    // The store of another process, which has not read the use of the owner yet.
    const { store } = processOn(database, { limit: 1_000, shard: 1 });
    for (let again = 0; again < 2; again += 1) await store.admit?.(owner, 244, 'request');
    await expect(store.admit?.(owner, 245, 'request')).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(await bytesOf(store)).toBe(756);
  });

  test('refuses a larger restore, and keeps the records', async () => {
    const { store, put } = processOn(new MemoryDatabase(), { limit: 1_000 });
    await put('1', 'there');
    async function* records() {
      for (let n = 0; n < 10; n += 1) yield { key: keyOf(`r${n}`), head: {}, body: 'x'.repeat(100) };
    }
    await expect(store.swap(scope, records(), () => {})).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect((await store.query(scope, { by: 'keys', keys: [{ key: keyOf('1') }] })).records).toHaveLength(1);
  });

  test('binds in another process within a minute', async () => {
    const world = new ManualWorld();
    const database = new MemoryDatabase();
    const one = processOn(database, { limit: 10_000, world });
    const two = processOn(database, { limit: 10_000, world, shard: 1 });
    await two.put('0', '');
    await one.put('1', 'x'.repeat(9_000));
    await two.put('2', 'x'.repeat(5_000));
    world.advance(60_000);
    await one.meter.flush();
    // No call uses the figures of an hour ago, which an idle process has.
    await expect(two.put('3', 'x')).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect((await two.store.query(scope, { by: 'keys', keys: [{ key: keyOf('3') }] })).records).toEqual([]);
  });

  test('rests on younger figures while new ones are read', async () => {
    const world = new ManualWorld();
    const database = new MemoryDatabase();
    const one = processOn(database, { limit: 10_000, world });
    const two = processOn(database, { limit: 10_000, world, shard: 1 });
    await two.put('0', '');
    await one.put('1', 'x'.repeat(9_000));
    await one.meter.flush();
    two.queries.mockClear();
    world.advance(29_000);
    await two.put('2', 'x');
    expect(two.queries).not.toHaveBeenCalled();
    world.advance(1_000);
    await two.put('3', 'x');
    expect(two.queries).toHaveBeenCalledTimes(1);
    await two.meter.useOf(owner);
    await expect(two.put('4', 'x'.repeat(500))).rejects.toMatchObject({ code: 'quota_exceeded' });
  });

  test('holds where a restore lasts longer than figures are good for', async () => {
    const world = new ManualWorld();
    const database = new MemoryDatabase();
    const one = processOn(database, { limit: 2_000, world });
    const two = processOn(database, { limit: 2_000, world, shard: 1 });
    async function* records() {
      for (let n = 0; n < 4; n += 1) {
        yield { key: keyOf(`r${n}`), head: {}, body: 'x'.repeat(44) };
        world.advance(100_000);
        if (n !== 2) continue;
        await two.put('1', 'x'.repeat(900), { isRun: true });
        await two.meter.flush();
      }
    }
    await expect(one.store.swap(scope, records(), () => {})).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
  });

  test('is contention where every figure is too old before it serves', async () => {
    const world = new ManualWorld();
    const { store, meter } = processOn(new MemoryDatabase(), { limit: 2_000, world });
    const slow = vi.spyOn(meter, 'ready');
    slow.mockImplementation(() => Promise.resolve());
    await expect(store.admit?.(owner, 1, 'request')).rejects.toMatchObject({ failure: 'contention' });
    expect(slow).toHaveBeenCalledTimes(3);
  });
});

test('adds bytes that are counted during an addition, at the end of the process as well', async () => {
  const { store, meter, put } = processOn(new MemoryDatabase());
  await put('1', '');
  const first = meter.flush();
  await put('2', '');
  await Promise.all([first, meter.flush()]);
  expect(await bytesOf(store)).toBe(2 * 256);
});

test('an addition that fails is tried again after a while, and at the end of the process for the last time', async () => {
  const failed = Promise.withResolvers<unknown>();
  const { store, meter, put, spied, world } = processOn(new MemoryDatabase(), { onFailure: failed.resolve });
  await put('1', '');
  spied.mockRejectedValueOnce(new Error('the store is away'));
  world.advance(20_000);
  await failed.promise;
  expect([await bytesOf(store), world.pendingTimers]).toEqual([0, 1]);
  const through = MemoryStore.prototype.transact.bind(store);
  const added = Promise.withResolvers<unknown>();
  spied.mockImplementationOnce(async (of, request, decide) => {
    const result = await through(of, request, decide);
    added.resolve(result);
    return result;
  });
  world.advance(20_000);
  await added.promise;
  expect([await bytesOf(store), world.pendingTimers]).toEqual([256, 0]);

  await put('2', '');
  spied.mockRejectedValueOnce(new Error('the store is away'));
  await expect(meter.close()).rejects.toThrow('away');
  expect(world.pendingTimers).toBe(0);
});

test('an owner that nears its limit is warned of once an hour, also where its write is refused', async () => {
  const { put, remove, warned, world } = processOn(new MemoryDatabase(), { limit: 1_000 });
  await put('1', 'x'.repeat(543));
  expect(warned).toEqual([]);
  await put('1', 'x'.repeat(544));
  await expect(put('2', 'x'.repeat(500))).rejects.toMatchObject({ code: 'quota_exceeded' });
  expect(warned).toEqual(['a']);
  world.advance(3_600_000);
  await remove('1');
  await put('1', 'x'.repeat(600));
  expect(warned).toEqual(['a', 'a']);
});

test('requests of an owner may write a limited number of bytes in a minute, and the same in the next', async () => {
  const { put, world } = processOn(new MemoryDatabase(), { bytesPerMinute: 1_000 });
  await put('1', 'x'.repeat(500));
  world.advance(10_000);
  await expect(put('2', 'x'.repeat(500))).rejects.toMatchObject({
    code: 'rate_limited',
    extensions: { retryAfterSeconds: 50 },
  });
  await put('3', 'x'.repeat(500), { grows: 'job' });
  await put('3', 'x'.repeat(5_000), { grows: false });
  world.advance(50_000);
  await put('2', 'x'.repeat(5_000));
});

test('a replacement of the same size or larger counts as written in the minute too', async () => {
  const { put, remove, store } = processOn(new MemoryDatabase(), { bytesPerMinute: 1_500 });
  await put('1', 'x'.repeat(500));
  await put('1', 'y'.repeat(400));
  await expect(put('1', '')).rejects.toMatchObject({ code: 'rate_limited' });
  await put('1', 'x'.repeat(500), { grows: 'job' });
  await remove('1');
  await expect(store.admit?.(owner, 1_000, 'request')).rejects.toMatchObject({ code: 'rate_limited' });
});

test('bytes outside are written once, however many records name them one after another', async () => {
  const { store } = processOn(new MemoryDatabase(), { bytesPerMinute: 12_000 });
  const keep = (id: string, isNew: boolean) =>
    store.transact(scope, { keys: [{ key: keyOf(id) }] }, () => ({
      writes: [{ put: { key: keyOf(id), head: {}, body: null, keptOutside: { bytes: 10_000, isNew } } }],
      result: null,
      grows: 'request',
    }));
  await keep('1', true);
  await keep('2', false);
  await expect(keep('3', true)).rejects.toMatchObject({ code: 'rate_limited' });
});

test('a busy owner costs each process three additions and two readings a minute, an idle one nothing', async () => {
  const world = new ManualWorld();
  const { put, spied, queries, meter } = processOn(new MemoryDatabase(), { world, limit: 1e9 });
  for (let n = 0; n < 600; n += 1) {
    await put(String(n), 'x'.repeat(100));
    world.advance(100);
  }
  await meter.flush();
  const additions = spied.mock.calls.filter(([{ name }]) => name === USAGE_SCOPE.name);
  const readings = queries.mock.calls.filter(([{ name }]) => name === USAGE_SCOPE.name);
  expect([additions.length, readings.length]).toEqual([expect.toBeOneOf([3, 4]), expect.toBeOneOf([2, 3])]);
  spied.mockClear();
  world.advance(600_000);
  expect([spied.mock.calls.length, world.pendingTimers]).toEqual([0, 0]);
  // The first write after a pause reads once before it decides.
  queries.mockClear();
  for (const id of ['1', '2', '3']) await put(id, 'x'.repeat(200));
  expect(queries.mock.calls.filter(([{ name }]) => name === USAGE_SCOPE.name)).toHaveLength(1);
});
