import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { documents, fullRecord, keyOf, put, randomScope } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { openThrough, usedScope } from './fixtures.ts';
import { type Proxy, startProxy } from './proxy.ts';

/** Round trips decide latency as soon as the database is on another machine. */
describe.skipIf(postgresMissing !== undefined)(`round trips to PostgreSQL ${postgresMissing ?? ''}`, () => {
  let proxy: Proxy;
  let store: RecordStore;
  let scope: Scope;

  beforeAll(async () => {
    proxy = await startProxy();
    store = openThrough(proxy, postgresSchema(), { poolSize: 1 });
    scope = await usedScope(store);
    await put(store, scope, fullRecord('a', { due: 5 }), fullRecord('b'), fullRecord('c'));
  });
  afterAll(async () => {
    await store.close();
    await proxy.close();
  });

  async function turnsOf(call: () => Promise<unknown>): Promise<number> {
    // The one connection is free again, and the sweep of the start is over.
    await store.ping();
    const before = proxy.turns;
    await call();
    return proxy.turns - before;
  }

  test('a transaction that writes: one to lock and read, one to write and commit', async () => {
    const part = { of: keyOf('document').id, order: '1', body: '{}' };
    const listing = { group: 'task', id: 'a', hidden: false, indexes: { status: 'closed' } };
    const writes = [
      { put: { key: keyOf('a'), head: { revision: 2 }, body: '{}', listing, due: 5 } },
      { put: fullRecord('new', { parts: [part] }) },
      { remove: keyOf('c') },
    ];
    const keys = ['a', 'b', 'c', 'new', 'absent'].map((name) => ({ key: keyOf(name) }));
    const gate = keyOf('new');
    const call = () => store.transact(scope, { gate, keys }, () => ({ writes, result: null }));
    expect(await turnsOf(call)).toBe(2);
  });

  test('a transaction that only reads, or is refused: one, and a farewell that the store does not await', async () => {
    const keys = [{ key: keyOf('a'), view: 'parts' as const }];
    expect(
      await turnsOf(() => store.transact(scope, { keys }, () => ({ writes: [], result: null }))),
    ).toBeLessThanOrEqual(2);
    // The next call's request follows the farewell in the same turn.
    expect(await turnsOf(() => store.query(scope, { by: 'keys', keys }))).toBe(1);
  });

  test('a claim: one to find, one to write and commit', async () => {
    const call = () =>
      store.claim(scope, documents, { now: 9, limit: 5 }, (record) => ({
        put: { ...record, due: null },
        result: record.key.id,
      }));
    expect(await turnsOf(call)).toBe(2);
  });

  test('a list: one for the page; where few of the first rows match, one more to count entries and one for the page', async () => {
    const list = { by: 'list', collection: documents, limit: 5 } as const;
    expect(await turnsOf(() => store.query(scope, list))).toBe(1);
    expect(await turnsOf(() => store.query(scope, { ...list, orderBy: 'rank' }))).toBe(1);
    const chosen = { ...list, equal: { status: 'open' }, orderBy: 'rank' };
    expect(await turnsOf(() => store.query(scope, chosen))).toBe(1);
    const other = randomScope();
    const records = Array.from({ length: 50 }, (_, n) =>
      fullRecord(`${n}`, {
        listing: {
          group: 'task',
          id: `${n}`,
          hidden: false,
          indexes: { status: n < 49 ? 'done' : 'open', rank: `${n + 100}` },
        },
      }),
    );
    await put(store, other, ...records);
    expect(await turnsOf(() => store.query(other, chosen))).toBe(3);
  });
});
