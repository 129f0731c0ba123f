import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { events, fullRecord, keyOf, put, read, streamOf, transact } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { holdCommit, openSession, openStore, openThrough, usedScope, waitersOf } from './fixtures.ts';
import { type Proxy, startProxy } from './proxy.ts';

const now = 1_790_000_000_000;
const countOf = (record: RecordData | undefined) => Number(record?.head['count']);

/** Races that a test decides, by holding a lock in a session of its own or a packet on its way. */
describe.skipIf(postgresMissing !== undefined)(`locks in PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let proxy: Proxy;
  let store: RecordStore;
  let other: RecordStore;
  let rival: Awaited<ReturnType<typeof openSession>>;
  let watcher: Awaited<ReturnType<typeof openSession>>;

  beforeAll(async () => {
    proxy = await startProxy();
    store = openThrough(proxy, schema);
    other = openStore(schema);
    await store.ping();
    [rival, watcher] = await Promise.all([openSession(schema), openSession(schema)]);
  });
  afterEach(async () => {
    proxy.onRequest = () => 'pass';
    await rival.query('ROLLBACK; RESET lock_timeout');
  });
  afterAll(async () => {
    await Promise.all([store.close(), other.close(), rival.end(), watcher.end()]);
    await proxy.close();
  });

  /** Lets the store lose a race over a key, so that it locks before it reads. */
  async function contend(scope: Scope, ...names: readonly string[]): Promise<void> {
    const held = holdCommit(proxy);
    const keys = names.map((name) => ({ key: keyOf(name) }));
    const writes = keys.map((request) => ({ put: { ...request, head: { count: 1 } } }));
    const call = store.transact(scope, { keys }, () => ({ writes, result: null }));
    await held.reached.opened;
    await put(other, scope, ...writes.map(({ put: record }) => record));
    held.release.open();
    await call;
  }

  const update = (count: number) => ({ put: { key: keyOf('a'), head: { count } } });
  const setHead = 'UPDATE records SET head = $2 WHERE id = $1';

  test('a record that a rival changes after it was read is read again, under its lock', async () => {
    for (const [name, written] of [
      ['a', 'a'],
      ['b', 'a'],
    ] as const) {
      const scope = await usedScope(store);
      await put(
        store,
        scope,
        { key: keyOf('a'), head: { count: 1 } },
        { key: keyOf('b'), head: { count: 1 } },
      );
      const seen: number[] = [];
      const { reached, release } = holdCommit(proxy);
      const keys = [{ key: keyOf('a') }, { key: keyOf('b') }];
      const call = store.transact(scope, { keys }, (found) => {
        seen.push(countOf(found.get(keyOf(name))));
        return { writes: [{ put: { key: keyOf(written), head: { count: 5 } } }], result: null };
      });
      await reached.opened;
      await put(other, scope, { key: keyOf(name), head: { count: 7 } });
      release.open();
      await call;
      expect(seen).toEqual([1, 7]);
      expect(countOf(await read(store, scope, keyOf(written)))).toBe(5);
    }
  });

  test('a record that a rival is changing at the time of the write is compared as the rival leaves it', async () => {
    for (const outcome of ['ROLLBACK', 'COMMIT']) {
      for (const alone of [true, false]) {
        const scope = await usedScope(store);
        await put(store, scope, { key: keyOf('a'), head: { count: 1 } }, { key: keyOf('b'), head: {} });
        const seen: number[] = [];
        await rival.query('BEGIN');
        await rival.query(setHead, [keyOf('a').id, '{"count":7}']);
        const keys = [{ key: keyOf('a') }, ...(alone ? [] : [{ key: keyOf('b') }])];
        const call = store.transact(scope, { keys }, (found) => {
          seen.push(countOf(found.get(keyOf('a'))));
          return { writes: [update((seen.at(-1) ?? 0) + 1)], result: null };
        });
        await waitersOf(rival, watcher);
        await rival.query(outcome);
        await call;
        expect(seen).toEqual(outcome === 'COMMIT' ? [1, 7] : [1]);
        expect(countOf(await read(store, scope, keyOf('a')))).toBe(outcome === 'COMMIT' ? 8 : 2);
      }
    }
  });

  test('a swap between a read and its write: the write starts again in the new space', async () => {
    const scope = await usedScope(store);
    await put(store, scope, { key: keyOf('a'), head: { count: 1 } });
    const seen: number[] = [];
    const { reached, release } = holdCommit(proxy);
    const call = store.transact(scope, { keys: [{ key: keyOf('a') }] }, (found) => {
      seen.push(countOf(found.get(keyOf('a'))));
      return { writes: [update((seen.at(-1) ?? 0) + 1)], result: null };
    });
    await reached.opened;
    const made = { ...fullRecord('a'), head: { count: 10 } };
    await other.swap(scope, streamOf([made]), () => undefined);
    release.open();
    await call;
    expect(seen).toEqual([1, 10]);
    expect(countOf(await read(store, scope, keyOf('a')))).toBe(11);
  });

  test('over a contended key, a record that was read is out of reach of others until the end', async () => {
    const scope = await usedScope(store);
    await put(store, scope, { key: keyOf('b'), head: {} });
    await contend(scope, 'a');
    const { reached, release } = holdCommit(proxy);
    const keys = [{ key: keyOf('a') }, { key: keyOf('b') }];
    const call = store.transact(scope, { keys }, () => ({ writes: [update(2)], result: 'done' }));
    await reached.opened;
    await rival.query(`SET lock_timeout = '100ms'`);
    for (const key of [keyOf('a'), keyOf('b')]) {
      await expect(rival.query(setHead, [key.id, '{}'])).rejects.toMatchObject({ code: '55P03' });
    }
    release.open();
    expect(await call).toBe('done');
  });

  test('an unguarded record is neither locked nor waited for', async () => {
    const scope = await usedScope(store);
    const pointer = { key: keyOf('pointer'), unguarded: true } as const;
    await put(store, scope, { key: pointer.key, head: { count: 1 } });
    // Its writer is in the middle of a transaction, and a second call shares it with the first.
    await rival.query('BEGIN');
    await rival.query(setHead, [pointer.key.id, '{"count":2}']);
    const { reached, release } = holdCommit(proxy);
    const call = store.transact(scope, { keys: [pointer, { key: keyOf('a') }] }, (found) => ({
      writes: [update(1)],
      result: countOf(found.get(pointer.key)),
    }));
    await reached.opened;
    const beside = other.transact(scope, { keys: [pointer, { key: keyOf('b') }] }, (found) => ({
      writes: [{ put: { key: keyOf('b'), head: {} } }],
      result: countOf(found.get(pointer.key)),
    }));
    expect(await beside).toBe(1);
    await rival.query(`COMMIT; SET lock_timeout = '100ms'`);
    await rival.query(setHead, [pointer.key.id, '{"count":3}']);
    release.open();
    expect(await call).toBe(1);
    expect((await read(store, scope, pointer.key))?.head).toEqual({ count: 3 });
  });

  test('an absent unguarded key does not block its creator', async () => {
    const scope = await usedScope(store);
    const { reached, release } = holdCommit(proxy);
    const keys = [{ key: keyOf('pointer'), unguarded: true as const }, { key: keyOf('a') }];
    const call = store.transact(scope, { keys }, (found) => ({
      writes: [update(1)],
      result: found.get(keyOf('pointer')),
    }));
    await reached.opened;
    await put(other, scope, { key: keyOf('pointer'), head: {} });
    release.open();
    expect(await call).toBeUndefined();
  });

  test('a record that was created during a wait for another is locked before the decision uses it', async () => {
    const scope = await usedScope(store);
    const [here, there] = [keyOf('here'), keyOf('there')];
    await contend(scope, 'here');
    const keys = [{ key: here }, { key: there }];
    await rival.query('BEGIN');
    await rival.query(`SELECT 1 FROM records WHERE id = $1 FOR UPDATE`, [here.id]);
    const { reached, release } = holdCommit(proxy);
    const call = store.transact(scope, { keys }, (found) => {
      const count = countOf(found.get(there)) + 1;
      return { writes: [{ put: { key: there, head: { count } } }], result: count };
    });
    await waitersOf(rival, watcher);
    await rival.query(
      `INSERT INTO records (space, part_bytes, hidden, collection, id, head, listing_id)
        SELECT space, 0, false, collection, $2, '{"count":10}', '' FROM records WHERE id = $1`,
      [here.id, there.id],
    );
    await rival.query('COMMIT');
    await reached.opened;
    await rival.query(`SET lock_timeout = '100ms'`);
    await expect(rival.query(setHead, [there.id, '{"count":20}'])).rejects.toMatchObject({
      code: '55P03',
    });
    release.open();
    expect(await call).toBe(11);
  });

  test('a key found absent stays so until the end, also where it is only read', async () => {
    const scope = await usedScope(store);
    const keys = [{ key: keyOf('a') }, { key: keyOf('b') }];
    const seen: boolean[] = [];
    const { reached, release } = holdCommit(proxy);
    const call = store.transact(scope, { keys }, (found) => {
      seen.push(found.get(keyOf('b')) !== undefined);
      return { writes: seen.at(-1) ? [] : [update(1)], result: null };
    });
    await reached.opened;
    await put(other, scope, { key: keyOf('b'), head: {} });
    release.open();
    await call;
    expect(seen).toEqual([false, true]);
    expect(await read(store, scope, keyOf('a'))).toBeUndefined();
  });

  test('callers behind one gate run one after the other: only the first tries decide in vain', async () => {
    const scope = await usedScope(store);
    const gate = keyOf('receipt');
    let decisions = 0;
    const calls = Array.from({ length: 16 }, (_, index) =>
      transact(
        index % 2 === 0 ? store : other,
        scope,
        [gate],
        (found) => {
          decisions += 1;
          const there = found.get(gate) !== undefined;
          return { writes: there ? [] : [{ put: { key: gate, head: { index } } }], result: there };
        },
        gate,
      ),
    );
    const answers = await Promise.all(calls);
    expect(answers.filter((there) => !there)).toHaveLength(1);
    expect(decisions).toBeLessThanOrEqual(16 + 2);
  });

  test('a swap waits for the transactions under way, and replaces their writes', async () => {
    const scope = await usedScope(store);
    await contend(scope, 'a');
    const { reached, release } = holdCommit(proxy);
    const call = store.transact(scope, { keys: [{ key: keyOf('a') }] }, () => ({
      writes: [update(2)],
      result: 'done',
    }));
    await reached.opened;
    let swapped = false;
    const swap = other
      .swap(scope, streamOf([fullRecord('new')]), () => undefined)
      .then(() => (swapped = true));
    await pollForWaiter(watcher);
    expect(swapped).toBe(false);
    release.open();
    expect(await call).toBe('done');
    await swap;
    expect(await read(store, scope, keyOf('a'))).toBeUndefined();
    expect(await read(store, scope, keyOf('new'))).toBeDefined();
  });

  const due = (name: string, at: number): RecordData => ({ key: keyOf(name, events), head: {}, due: at });
  const take = (record: RecordData) => ({ put: { ...record, due: null }, result: record.key.id });

  test('a claim skips records that a rival holds, without waiting', async () => {
    const scope = await usedScope(store);
    await put(store, scope, due('a', now - 2), due('b', now - 1));
    await rival.query('BEGIN');
    await rival.query('SELECT 1 FROM records WHERE id = $1 FOR UPDATE', [keyOf('a', events).id]);
    const won = await store.claim(scope, events, { now, limit: 1 }, take);
    expect(won).toEqual([keyOf('b', events).id]);
  });

  test('a record that stays due after its write is offered once in a call', async () => {
    const scope = await usedScope(store);
    const names = Array.from({ length: 30 }, (_, index) => `${index + 10}`);
    await put(store, scope, ...names.map((name, index) => due(name, now - 100 + index)));
    const offered: string[] = [];
    const won = await store.claim(scope, events, { now, limit: 1 }, (record) => {
      offered.push(record.key.id);
      return { put: { ...record, due: now } };
    });
    expect(won).toEqual([]);
    expect(offered).toEqual(names.map((name) => keyOf(name, events).id));
  });

  test('a claim without a win waits for records that a rival holds, and takes those that the rival leaves', async () => {
    const scope = await usedScope(store);
    for (const outcome of ['ROLLBACK', 'COMMIT']) {
      await put(store, scope, due('a', now - 1));
      await rival.query('BEGIN');
      await rival.query('UPDATE records SET due = NULL WHERE id = $1', [keyOf('a', events).id]);
      const call = store.claim(scope, events, { now, limit: 1 }, take);
      await waitersOf(rival, watcher);
      await rival.query(outcome);
      expect(await call).toEqual(outcome === 'ROLLBACK' ? [keyOf('a', events).id] : []);
    }
  });

  test('a waiting claim holds no lock on records that it waited for before', async () => {
    const scope = await usedScope(store);
    await put(store, scope, due('a', now - 2), due('b', now - 1));
    const [first, second] = [keyOf('a', events).id, keyOf('b', events).id];
    const holder = await openSession(schema);
    await holder.query('BEGIN');
    await holder.query('UPDATE records SET head = head WHERE id = $1', [second]);
    await rival.query('BEGIN');
    await rival.query('UPDATE records SET due = NULL WHERE id = $1', [first]);
    const call = store.claim(scope, events, { now, limit: 1 }, take);
    await waitersOf(rival, watcher);
    await rival.query('COMMIT');
    await waitersOf(holder, watcher);
    // It waits for the second now: were the first still locked by it, this would wait in turn, and both for ever.
    await watcher.query('BEGIN');
    await watcher.query('SELECT 1 FROM records WHERE id = $1 FOR UPDATE NOWAIT', [first]);
    await watcher.query('ROLLBACK');
    await holder.query('COMMIT');
    expect(await call).toEqual([second]);
    await holder.end();
  });
});

/** Some session of the server that waits for an advisory lock. */
async function pollForWaiter(watcher: Awaited<ReturnType<typeof openSession>>): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await watcher.query(
          `SELECT 1 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
          WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database()`,
        );
        return rows.length;
      },
      { interval: 5 },
    )
    .toBeGreaterThan(0);
}
