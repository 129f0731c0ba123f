import { expect, test } from 'vitest';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import {
  fullRecord,
  keyOf,
  listAll,
  put,
  randomScope,
  read,
  together,
} from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase } from '../support/mysql.ts';
import { failed, rowsOf } from './fixtures.ts';

describeMysql('the schema of MySQL', () => {
  async function withDatabase(work: (database: MysqlDatabase) => Promise<void>): Promise<void> {
    const database = await createMysqlDatabase();
    try {
      await work(database);
    } finally {
      await database.drop();
    }
  }

  test('is made by the first call, also when several instances start at once', () =>
    withDatabase(async (database) => {
      const stores = Array.from({ length: 6 }, () => openMysqlStore(database.options()));
      expect(await rowsOf(database, 'SHOW TABLES')).toEqual([]);
      await together(18, async (index) => {
        const store = stores[index % stores.length]!;
        const scope = randomScope();
        await put(store, scope, fullRecord('a'));
        expect(await read(store, scope, keyOf('a'))).toBeDefined();
      });
      await Promise.all(stores.map((store) => store.close()));
      expect(await rowsOf(database, 'SELECT version FROM svc_schema_versions')).toEqual([{ version: 1 }]);
    }));

  test('of a newer release is refused, and left alone', () =>
    withDatabase(async (database) => {
      const store = openMysqlStore(database.options());
      await store.ping();
      await store.close();
      const session = await database.connect();
      await session.query('INSERT INTO svc_schema_versions (version) VALUES (99)');
      await session.end();
      const old = openMysqlStore(database.options());
      for (let turn = 0; turn < 2; turn += 1) {
        const error = await failed('unavailable', old.ping());
        expect(error.message).toBe(
          'the database has schema version 99, but this release knows 1 at most: use a newer release',
        );
      }
      await old.close();
    }));

  test('that was cut off in the making is completed', () =>
    withDatabase(async (database) => {
      const whole = openMysqlStore(database.options());
      await whole.ping();
      await whole.close();
      const session = await database.connect();
      await session.query('DROP TABLE svc_parts, svc_entries');
      await session.query('DELETE FROM svc_schema_versions');
      await session.end();
      const store = openMysqlStore(database.options());
      const scope = randomScope();
      await put(store, scope, fullRecord('a', { parts: [{ of: keyOf('b').id, order: '1', body: 'x' }] }));
      await store.close();
    }));

  test('a first call that fails leaves the next one to try again', () =>
    withDatabase(async (database) => {
      await database.drop();
      const store = openMysqlStore(database.options());
      await failed('unavailable', store.ping());
      const { name } = database;
      const again = await createMysqlDatabase();
      await rowsOf(again, `CREATE DATABASE ${name}`);
      await again.drop();
      await store.ping();
      await store.close();
    }));

  test('stores of two prefixes share nothing', () =>
    withDatabase(async (database) => {
      const stores = ['a_', 'b_'].map((tablePrefix) =>
        openMysqlStore({ ...database.options(), tablePrefix }),
      );
      const [one, other] = stores as [(typeof stores)[0], (typeof stores)[0]];
      const scope = randomScope();
      await put(one, scope, fullRecord('a'));
      expect(await read(other, scope, keyOf('a'))).toBeUndefined();
      await Promise.all(stores.map((store) => store.close()));
      const odd = () => openMysqlStore({ ...database.options(), tablePrefix: 'a`; DROP' });
      expect(odd).toThrow('a table prefix is of letters, digits and _');
    }));

  test('compares values byte by byte on a database that folds case and pads, and keeps every byte', () =>
    withDatabase(async (database) => {
      const store = openMysqlStore(database.options());
      const scope = randomScope();
      const values = ['a', 'a ', 'A', 'a\u0301', 'á', 'a!', 'ä', 'ae', '\\', "'", '%', 'a\u0009'];
      const collection = { name: 'documents', pairedIndexes: true };
      const records = values.map((value, index) =>
        fullRecord(`${index}`, {
          listing: { group: value, id: value, hidden: false, indexes: { v: value, [value]: value } },
        }),
      );
      await put(store, scope, ...records);
      const sorted = values.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
      const ids = async (asked: object) =>
        (await listAll(store, scope, { collection, limit: 5, ...asked })).map(({ listing }) => listing?.id);
      expect(await ids({})).toEqual(sorted);
      expect(await ids({ orderBy: 'v' })).toEqual(sorted);
      expect(await ids({ orderBy: 'v', direction: 'descending' })).toEqual(sorted.toReversed());
      for (const value of values) {
        expect(await ids({ group: value })).toEqual([value]);
        expect(await ids({ equal: { v: value } })).toEqual([value]);
        expect(await ids({ equal: { [value]: value } })).toEqual([value]);
        expect(await ids({ range: { index: 'v', from: value, to: value } })).toEqual([value]);
      }
      for (const name of ['Case', 'case', 'case ']) {
        await put(store, { kind: 'tenants', name }, fullRecord('a', { body: name }));
      }
      for (const name of ['Case', 'case', 'case ']) {
        expect((await read(store, { kind: 'tenants', name }, keyOf('a')))?.body).toBe(name);
      }
      await store.close();
      const text = await rowsOf(
        database,
        `SELECT column_name FROM information_schema.columns
          WHERE table_schema = DATABASE() AND collation_name IS NOT NULL`,
      );
      expect(text).toEqual([]);
    }));
});
