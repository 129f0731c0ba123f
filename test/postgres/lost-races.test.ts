import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore, Scope, Write } from '../../functions/store/port.ts';
import { documents, keyOf, put, randomScope, read, write } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { holdCommit, openSession, openStore, openThrough, usedScope, waitersOf } from './fixtures.ts';
import { type Proxy, startProxy } from './proxy.ts';

/** A first try reads without locks: its writes must depend on all that it has read, and on nothing else. */
describe.skipIf(postgresMissing !== undefined)(`lost races in PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let proxy: Proxy;
  let store: RecordStore;
  let other: RecordStore;
  let rival: Awaited<ReturnType<typeof openSession>>;
  let watcher: Awaited<ReturnType<typeof openSession>>;
  let refusals = 0;

  beforeAll(async () => {
    proxy = await startProxy();
    store = openThrough(proxy, schema);
    other = openStore(schema);
    await store.ping();
    [rival, watcher] = await Promise.all([openSession(schema), openSession(schema)]);
  });
  afterEach(() => {
    proxy.onRequest = () => 'pass';
    proxy.onAnswer = () => 'pass';
  });
  afterAll(async () => {
    await Promise.all([store.close(), other.close(), rival.end(), watcher.end()]);
    await proxy.close();
  });

  const listing = { group: 'task', id: 'a', hidden: false, indexes: { status: 'open' } };
  const stored: RecordData = { key: keyOf('a'), head: { count: 1 }, body: '{"n":1}', due: 5, listing };

  interface Race {
    readonly view?: 'head' | 'body';
    readonly gate?: boolean;
    readonly names?: readonly string[];
  }

  /** Runs a call that reads `a` and writes; `between` runs before the writes arrive. */
  async function race(
    scope: Scope,
    writes: (tries: number) => readonly Write[],
    between: () => Promise<unknown>,
    { view, gate = false, names = ['a', 'b'] }: Race = {},
  ): Promise<number> {
    refusals = 0;
    proxy.onAnswer = (bytes) => {
      if (bytes.includes('SERROR\0')) refusals += 1;
      return 'pass';
    };
    let tries = 0;
    const { reached, release } = holdCommit(proxy);
    const keys = names.map((name) => ({ key: keyOf(name), view: view ?? 'head' }));
    const asked = gate ? { keys, gate: keyOf('made') } : { keys };
    const call = store.transact(scope, asked, () => {
      tries += 1;
      return { writes: writes(tries), result: null };
    });
    await reached.opened;
    await between();
    release.open();
    await call;
    return tries;
  }

  async function filledScope(): Promise<Scope> {
    const scope = await usedScope(store);
    await put(store, scope, stored, { key: keyOf('b'), head: { count: 1 } });
    return scope;
  }

  const update = { put: { key: keyOf('b'), head: { count: 2 } } };
  const changes: Readonly<Record<string, Partial<RecordData>>> = {
    head: { head: { count: 2 } },
    body: { body: '{"n":2}' },
    due: { due: 6 },
    'no due': { due: null },
    group: { listing: { ...listing, group: 'note' } },
    'listing id': { listing: { ...listing, id: 'b' } },
    visibility: { listing: { ...listing, hidden: true } },
    indexes: { listing: { ...listing, indexes: { status: 'done' } } },
    'no listing': { listing: null },
  };

  test.each(Object.entries(changes))(
    'a change of the %s alone is seen, without a refusal',
    async (_, change) => {
      const scope = await filledScope();
      const rivalled = () => write(other, scope, [{ put: { ...stored, ...change } }]);
      expect(await race(scope, () => [update], rivalled, { view: 'body' })).toBe(2);
      expect(refusals).toBe(0);
      expect((await read(store, scope, keyOf('b')))?.head).toEqual({ count: 2 });
    },
  );

  test('a change of unread values, or of another record, does not spoil the decision', async () => {
    const scope = await filledScope();
    const rivalled = () =>
      write(other, scope, [{ put: { ...stored, body: '{"n":2}' } }, { put: { key: keyOf('z'), head: {} } }]);
    expect(await race(scope, () => [update], rivalled)).toBe(1);
    expect((await read(store, scope, keyOf('a')))?.body).toBe('{"n":2}');
  });

  const created: RecordData = {
    key: keyOf('made'),
    head: {},
    body: '{}',
    listing: { ...listing, id: 'made' },
    parts: [{ of: keyOf('made').id, order: '1', body: '{}' }],
  };
  const first: Readonly<Record<string, readonly Write[]>> = {
    'an update': [update],
    'an update of what changed': [{ put: { ...stored, head: { count: 5 } } }],
    'new entries': [{ put: { ...stored, listing: { ...listing, indexes: { status: 'wrong' } } } }],
    'a creation': [{ put: created }],
    'a removal': [{ remove: keyOf('b') }],
    'all of them': [update, { put: created }, { remove: keyOf('a') }],
  };

  // A key that stays absent, or a removal, takes several statements.
  const together = Object.entries(first).flatMap(([name, writes]) =>
    [true, false].map((isOne) => [name, isOne ? 'alone' : 'among several statements', writes] as const),
  );

  test.each(together)('%s, %s, is not made after a lost race', async (_, how, writes) => {
    const scope = await filledScope();
    const makes = writes.some((each) => 'put' in each && each.put === created);
    const names = ['a', 'b', ...(makes ? ['made'] : []), ...(how === 'alone' ? [] : ['absent'])];
    const changed = { ...stored, head: { count: 7 } };
    const tries = await race(
      scope,
      (count) => (count === 1 ? writes : [{ put: { key: keyOf('b'), head: { count: 9 } } }]),
      () => write(other, scope, [{ put: changed }]),
      { names },
    );
    expect([tries, refusals]).toEqual([2, 0]);
    expect(await read(store, scope, keyOf('a'))).toMatchObject({ head: { count: 7 }, listing });
    expect((await read(store, scope, keyOf('b')))?.head).toEqual({ count: 9 });
    expect(await read(store, scope, keyOf('made'))).toBeUndefined();
    const list = { by: 'list', collection: documents, group: 'task', limit: 9 } as const;
    for (const status of ['open', 'wrong']) {
      const page = await store.query(scope, { ...list, equal: { status } });
      expect(page.records.map(({ key }) => key.id)).toEqual(status === 'open' ? [keyOf('a').id] : []);
    }
    const parts = { by: 'parts', collection: documents, of: keyOf('made').id, limit: 9 } as const;
    expect((await store.query(scope, { ...parts, direction: 'ascending' })).parts).toEqual([]);
  });

  test('a rival of the same gate that was first is found without a refusal', async () => {
    const scope = await filledScope();
    const tries = await race(
      scope,
      (count) => (count === 1 ? [{ put: created }, { put: { key: keyOf('absent'), head: {} } }] : []),
      () => write(other, scope, [{ put: { key: keyOf('made'), head: { rival: true } } }]),
      { gate: true, names: ['a', 'made', 'absent'] },
    );
    expect([tries, refusals]).toEqual([2, 0]);
    expect((await read(store, scope, keyOf('made')))?.head).toEqual({ rival: true });
    expect(await read(store, scope, keyOf('absent'))).toBeUndefined();
  });

  test('a record that a call relies on and does not write is waited for', async () => {
    const scope = await filledScope();
    await rival.query('BEGIN');
    await rival.query(`UPDATE records SET head = '{"count":7}' WHERE id = $1`, [keyOf('a').id]);
    const seen: unknown[] = [];
    let isAnswered = false;
    const call = store
      .transact(scope, { keys: [{ key: keyOf('a') }, { key: keyOf('b') }] }, (found) => {
        seen.push(found.get(keyOf('a'))?.head['count']);
        return { writes: [update], result: null };
      })
      .then(() => (isAnswered = true));
    await Promise.race([call, waitersOf(rival, watcher)]);
    expect(isAnswered).toBe(false);
    await rival.query('COMMIT');
    await call;
    expect(seen).toEqual([1, 7]);
  });

  test('a record that a rival replaces by its equal while the call waits for it is written', async () => {
    const scope = await filledScope();
    await rival.query('BEGIN');
    await rival.query('UPDATE records SET head = head WHERE id = $1', [keyOf('a').id]);
    const call = store.transact(scope, { keys: [{ key: keyOf('a') }] }, () => ({
      writes: [{ put: { ...stored, head: { count: 3 } } }],
      result: 'done',
    }));
    await waitersOf(rival, watcher);
    await rival.query('COMMIT');
    expect(await call).toBe('done');
    expect((await read(store, scope, keyOf('a')))?.head).toEqual({ count: 3 });
  });

  test('entries that a rival has replaced, with their record, by their equals are replaced', async () => {
    const scope = await filledScope();
    const at = 'id = $1 AND space = (SELECT space FROM scopes WHERE name = $2)';
    const values = [keyOf('a').id, scope.name];
    await rival.query('BEGIN');
    for (const status of ['done', 'open']) {
      await rival.query(`UPDATE records SET indexes = '{"status":"${status}"}' WHERE ${at}`, values);
      const entry = `space, collection, name, '${status}', listing_group, listing_id, id, paired`;
      await rival.query(
        `WITH gone AS (DELETE FROM entries WHERE ${at} RETURNING *) INSERT INTO entries
          (space, collection, name, value, listing_group, listing_id, id, paired) SELECT ${entry} FROM gone`,
        values,
      );
    }
    let tries = 0;
    const call = store.transact(scope, { keys: [{ key: keyOf('a'), view: 'body' }] }, () => {
      tries += 1;
      return { writes: [{ put: { ...stored, ...changes['indexes'] } }], result: null };
    });
    await waitersOf(rival, watcher);
    await rival.query('COMMIT');
    await call;
    expect(tries).toBe(2);
    const { rows } = await watcher.query(`SELECT value FROM entries WHERE ${at}`, values);
    expect(rows).toEqual([{ value: 'done' }]);
  });

  test('a search entry is not written after a lost race', async () => {
    const scope: Scope = { ...randomScope(), kind: 'spaces' };
    const search = (word: string) => ({
      group: 'note',
      orderKey: 'a',
      lexicon: 'words',
      terms: [word],
      vectors: [],
    });
    await write(store, scope, [{ put: { ...stored, search: search('before') } }]);
    const writes = (tries: number) => [
      { put: tries === 1 ? { ...stored, search: search('wrong') } : { key: keyOf('b'), head: {} } },
    ];
    const tries = await race(scope, writes, () =>
      write(other, scope, [{ put: { ...stored, head: { count: 7 } } }]),
    );
    expect([tries, refusals]).toEqual([2, 0]);
    const { rows } = await watcher.query(
      'SELECT terms::text FROM search_entries WHERE id = $1 ORDER BY space DESC LIMIT 1',
      [keyOf('a').id],
    );
    expect(rows[0]?.terms).toContain('before');
    expect(rows[0]?.terms).not.toContain('wrong');
  });
});
