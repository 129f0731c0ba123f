import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planList } from '../../functions/store/list-plan.ts';
import { questionOf, walkOf } from '../../functions/store/mysql/list.ts';
import { readingOf } from '../../functions/store/mysql/read.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { ListSelection, RecordStore, RecordView } from '../../functions/store/port.ts';
import { grouped, keyOf, put, randomScope } from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, type MysqlDatabase, mysqlMissing } from '../support/mysql.ts';

interface Step {
  readonly table: string;
  readonly type: string;
  readonly key: string;
}

describe.skipIf(mysqlMissing !== undefined)(`how MySQL reads known keys ${mysqlMissing ?? ''}`, () => {
  let database: MysqlDatabase;
  let store: RecordStore;
  beforeAll(async () => {
    database = await createMysqlDatabase();
    store = openMysqlStore(database.options());
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const views: readonly RecordView[] = ['head', 'body', 'parts'];
  test.each(views)(
    '%s: each by the whole of its key, also of a large tenant among small ones',
    async (view) => {
      // From these scopes the server learns that a scope has one record; the last one then has a hundred times as many.
      for (let n = 0; n < 40; n += 1) await put(store, randomScope(), { key: keyOf('only'), head: {} });
      const scope = randomScope();
      const keys = Array.from({ length: 100 }, (_, n) => keyOf(String(n)));
      const connection = await database.connect();
      await connection.query('ANALYZE TABLE svc_records, svc_parts');
      await put(store, scope, ...keys.map((key) => ({ key, head: {} })));
      for (const { text, values } of readingOf(
        scope,
        keys.map((key) => ({ key, view })),
      ).statements) {
        const sql = `EXPLAIN ${text.replace(/\{(\w+)\}/g, '`svc_$1`')}`;
        const [rows] = await connection.query(sql, [...values]);
        const read = (rows as Step[]).filter(({ table }) => table === 'r' || table === 'p');
        const expected = { r: ['eq_ref', 'PRIMARY'], p: ['ref', 'parts_by_record'] };
        expect(read.map(({ table, type, key }) => [table, type, key])).toEqual(
          read.map(({ table }) => [table, ...expected[table as 'r' | 'p']]),
        );
        expect(read).toHaveLength(1);
      }
      await connection.end();
    },
  );

  const one = { collection: grouped, group: 'b'.repeat(32), by: 'list', limit: 20 } as const;
  const lists: Readonly<Record<string, readonly [Partial<ListSelection>, string, readonly string[]]>> = {
    'all of a group': [{}, 'records_by_listing', ['listing_group']],
    'an equality in a group': [
      { equal: { rank: 'n1' } },
      'entries_by_value',
      ['name', 'value', 'listing_group'],
    ],
    'a range in a group': [
      { range: { index: 'rank', from: 'n1', to: 'n2' }, orderBy: 'rank' },
      'entries_by_group',
      ['name', 'listing_group', 'value'],
    ],
  };
  test.each(Object.entries(lists))('%s: one range of an index', async (_, [part, index, columns]) => {
    const question = questionOf({ ...one, ...part });
    if (question === undefined) throw new Error('nothing can match');
    const { text, values } = walkOf(randomScope(), planList(question, []), 20);
    const listing = { group: one.group, id: 'a', hidden: false, indexes: { rank: 'n1' } };
    const scope = randomScope();
    await put(store, scope, { key: keyOf('listed', grouped), head: {}, listing });
    const connection = await database.connect();
    const sql = text.replace(/\{(\w+)\}/g, '`svc_$1`');
    const [rows] = await connection.query(`EXPLAIN FORMAT=JSON ${sql}`, [
      scope.kind,
      scope.name,
      ...values.slice(2),
    ]);
    await connection.end();
    const plan = JSON.stringify(Object.values((rows as object[])[0] ?? {})).replaceAll('\\', '');
    expect(plan).toContain(`"key": "${index}"`);
    const used = /"table_name": "d".*?"used_key_parts": \[(.*?)\]/su.exec(plan)?.[1] ?? '';
    for (const column of columns) expect(used).toContain(`"${column}"`);
  });
});
