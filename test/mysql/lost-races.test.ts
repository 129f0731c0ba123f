import { afterAll, beforeAll, expect, test } from 'vitest';
import { keptStatement } from '../../functions/store/mysql/kept.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordData, RecordKey, RecordStore, Scope, Write } from '../../functions/store/port.ts';
import { keyOf, plain, put, randomScope, read } from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase } from '../support/mysql.ts';
import { until, waitingSessions } from './fixtures.ts';

/** A first try reads without a lock: its writes must depend on all that it has read, and on nothing else. */
describeMysql('lost races in MySQL', () => {
  let database: MysqlDatabase;
  let store: RecordStore;

  beforeAll(async () => {
    database = await createMysqlDatabase();
    store = openMysqlStore({ ...database.options(), lockTimeoutMs: 30_000 });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const [a, b, made] = [keyOf('a'), keyOf('b'), keyOf('made')];
  const listing = { group: 'task', id: 'a', hidden: false, indexes: { status: 'open' } };
  const stored: RecordData = { key: a, head: { count: 1 }, body: '{"n":1}', due: 5, listing };
  const update: Write = { put: { key: b, head: { count: 2 } } };

  /** The call has read and decided when another transaction, which holds the lock of the scope, makes the change. */
  async function race(
    scope: Scope,
    change: string,
    { view = 'body', writes = [update] }: { view?: 'head' | 'body'; writes?: readonly Write[] } = {},
  ): Promise<number> {
    const session = await database.connect();
    await session.query('START TRANSACTION');
    await session.query(`SELECT space INTO @space FROM svc_scopes WHERE name = '${scope.name}' FOR UPDATE`);
    let tries = 0;
    const keys = [a, b, made].map((key) => ({ key, view }));
    const call = store.transact(scope, { keys }, () => {
      tries += 1;
      return { writes: tries === 1 ? writes : [{ put: { key: b, head: { count: 9 } } }], result: null };
    });
    await until(async () => tries === 1 && (await waitingSessions(database)).length > 0);
    await session.query(change);
    await session.query('COMMIT');
    await call;
    await session.end();
    return tries;
  }

  async function filledScope(): Promise<Scope> {
    const scope = randomScope();
    await put(store, scope, stored, { key: b, head: { count: 1 } });
    return scope;
  }

  const at = `space = @space AND id = '${a.id}'`;
  const changes: Readonly<Record<string, string>> = {
    head: `UPDATE svc_records SET head = '{"count":7}' WHERE ${at}`,
    body: `UPDATE svc_records SET body = '{"n":2}' WHERE ${at}`,
    due: `UPDATE svc_records SET due = 6 WHERE ${at}`,
    'lack of a due': `UPDATE svc_records SET due = NULL WHERE ${at}`,
    group: `UPDATE svc_records SET listing_group = 'note' WHERE ${at}`,
    'listing id': `UPDATE svc_records SET listing_id = 'b' WHERE ${at}`,
    visibility: `UPDATE svc_records SET hidden = 1 WHERE ${at}`,
    indexes: `UPDATE svc_records SET indexes = '{"status":"done"}' WHERE ${at}`,
    'number of parts': `UPDATE svc_records SET parts = 1 WHERE ${at}`,
    existence: `DELETE FROM svc_records WHERE ${at}`,
    absence: `INSERT INTO svc_records (space, collection, id, listing_id, hidden, body_bytes, parts, part_bytes, head)
      VALUES (@space, '${made.collection}', '${made.id}', '', 0, 0, 0, 0, '{}')`,
  };

  test.each(Object.entries(changes))('a change of the %s alone is seen', async (_, change) => {
    const scope = await filledScope();
    expect(await race(scope, change)).toBe(2);
    expect((await read(store, scope, b))?.head).toEqual({ count: 9 });
  });

  test('a change of the space is seen', async () => {
    const scope = await filledScope();
    const flip = `UPDATE svc_scopes SET space = 1000000 WHERE name = '${scope.name}'`;
    expect(await race(scope, flip)).toBe(2);
    expect((await read(store, scope, b))?.head).toEqual({ count: 9 });
  });

  test('a change of a body that was not asked for, or of another record, does not spoil the decision', async () => {
    const scope = await filledScope();
    await put(store, scope, { key: keyOf('z'), head: {} });
    const change = `UPDATE svc_records SET
      body = IF(id = '${a.id}', '{"n":2}', body), head = IF(id = '${keyOf('z').id}', '{"n":2}', head)
      WHERE space = @space`;
    expect(await race(scope, change, { view: 'head' })).toBe(1);
    expect((await read(store, scope, a))?.body).toBe('{"n":2}');
  });

  const first: Readonly<Record<string, readonly Write[]>> = {
    'an update': [{ put: { ...stored, body: '{"n":3}' } }],
    'a creation': [{ put: { key: made, head: {}, parts: [{ of: made.id, order: '1', body: '{}' }] } }],
    'a removal': [{ remove: a }],
  };

  test('bodies that are too many for one statement are guarded by the lock, and no race counts as lost', async () => {
    const scope = randomScope();
    const session = await database.connect();
    const [limits] = (await session.query('SELECT @@max_allowed_packet AS bytes')) as unknown as [
      [{ bytes: number }],
    ];
    await session.end();
    const body = JSON.stringify('"'.repeat(500_000));
    const keys = Array.from({ length: Math.ceil(limits[0].bytes / body.length) + 1 }, (_, index) => ({
      key: keyOf(`large ${index}`),
      view: 'body' as const,
    }));
    for (const { key } of keys) await put(store, scope, { key, head: { count: 0 }, body });
    const counter = keyOf('large 0');
    /** How often a call decides that counts its record on. */
    const count = async () => {
      let tries = 0;
      await store.transact(scope, { keys }, (found) => {
        tries += 1;
        const before = Number(found.get(counter)?.head['count']);
        return { writes: [{ put: { key: counter, head: { count: before + 1 } } }], result: null };
      });
      return tries;
    };
    expect(await count()).toBe(2);
    // Were it taken for contended, it would be locked before it is read, and decided once.
    expect(await count()).toBe(2);
    expect((await read(store, scope, counter))?.head).toEqual({ count: 2 });
  });

  test.each(['STRICT_ALL_TABLES', ''])(
    'the check refuses and writes nothing in the mode "%s"',
    async (mode) => {
      const scope = await filledScope();
      const session = await database.connect();
      await session.query(`SET SESSION sql_mode = '${mode}'`);
      const live = `SELECT space FROM svc_scopes WHERE name = '${scope.name}'`;
      const [before] = (await session.query(live)) as unknown as [[{ space: number }]];
      const check = (key: RecordKey) => {
        const keys = [{ key, view: 'head' }] as const;
        const { text, values } = keptStatement({ scope, space: before[0].space, rows: new Map(), keys });
        return session.query(text.replaceAll(/\{(\w+)\}/g, 'svc_$1'), [...values]);
      };
      await check(made);
      await expect(check(a)).rejects.toMatchObject({ errno: 1242 });
      expect((await session.query(live))[0]).toEqual(before);
      await session.end();
    },
  );

  test.each(Object.entries(first))('%s is not made after a lost race', async (_, writes) => {
    const scope = await filledScope();
    expect(await race(scope, changes['head'] ?? '', { writes })).toBe(2);
    expect(plain(await read(store, scope, a))).toEqual(plain({ ...stored, head: { count: 7 } }));
    expect((await read(store, scope, b))?.head).toEqual({ count: 9 });
    expect(await read(store, scope, made)).toBeUndefined();
  });
});
