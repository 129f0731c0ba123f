import { afterAll, beforeAll, expect, test } from 'vitest';
import { planList } from '../../functions/store/list-plan.ts';
import { questionOf, walkOf } from '../../functions/store/mysql/list.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { ListSelection, RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { documents, keyOf, listAll, randomScope, streamOf } from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase } from '../support/mysql.ts';

const nothing = (): void => undefined;
const count = 12_003;
const found = [200, 12_002];

/** The bound of one page, in rows walked. */
describeMysql('pages from MySQL', () => {
  let database: MysqlDatabase;
  let store: RecordStore;
  let scope: Scope;

  beforeAll(async () => {
    database = await createMysqlDatabase();
    store = openMysqlStore(database.options());
    scope = randomScope();
    const records = Array.from({ length: count }, (_, index): RecordData => {
      const id = `${index + 100_000}`;
      const rare = found.includes(index);
      // Two states of which each is common, and which meet in few records.
      const indexes = {
        rank: id,
        left: rare || index % 2 === 0 ? 'y' : 'n',
        right: rare || index % 2 === 1 ? 'y' : 'n',
      };
      const listing = { group: 'task', id, hidden: false, indexes };
      return { key: keyOf(id), head: {}, listing };
    });
    const hidden = records.map((record, index): RecordData => {
      const group = 'gone';
      const listing = { group, id: record.listing?.id ?? '', hidden: !found.includes(index), indexes: {} };
      return { ...record, key: keyOf(`gone${index}`), listing };
    });
    await store.swap(scope, streamOf([...records, ...hidden]), nothing);
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const selections: [string, Omit<ListSelection, 'by' | 'collection' | 'limit'>][] = [
    ['hidden records', { group: 'gone' }],
    ['what another index rules out', { group: 'task', equal: { left: 'y', right: 'y' } }],
    ['the order of one index', { group: 'task', equal: { left: 'y', right: 'y' }, orderBy: 'rank' }],
    ['all groups', { equal: { left: 'y', right: 'y' }, orderBy: 'rank' }],
  ];

  test('a page is full where nothing rules its records out', async () => {
    const body = 'x'.repeat(5_000);
    const own = randomScope();
    const records = Array.from({ length: 120 }, (_, index): RecordData => {
      const listing = { group: 'task', id: `${index}`, hidden: false, indexes: { state: 'open' } };
      return { key: keyOf(`${index}`), head: {}, body, listing };
    });
    await store.swap(own, streamOf(records), nothing);
    for (const asked of [{}, { equal: { state: 'open' } }, { orderBy: 'state' }]) {
      const page = await store.query(own, { by: 'list', collection: documents, limit: 100, ...asked });
      expect(page.records).toHaveLength(100);
    }
  });

  test.each(selections)('a walk over %s ends with a place to go on from', async (_, asked) => {
    for (const direction of ['ascending', 'descending'] as const) {
      const selection = { collection: documents, limit: 5, direction, ...asked };
      const first = await store.query(scope, { by: 'list', ...selection });
      expect(first.records.length).toBeLessThan(found.length);
      expect(first.next).not.toBeNull();
      const listed = await listAll(store, scope, selection);
      const ids = found.map((index) => `${index + 100_000}`);
      if (direction === 'descending') ids.reverse();
      expect(listed.map((record) => record.listing?.id)).toEqual(ids);
    }
  });

  test.each(selections)('a look at %s reads its rows in their order, from where it is', async (_, asked) => {
    const connection = await database.connect();
    const after = Buffer.from(
      JSON.stringify([asked.orderBy === undefined ? null : '100200', 'task', '100200']),
    );
    for (const at of [undefined, after.toString('base64url')]) {
      const selection = { by: 'list', collection: documents, limit: 5, ...asked } as const;
      const question = questionOf(at === undefined ? selection : { ...selection, after: at });
      if (question === undefined) throw new Error('the question has answers');
      const { text, values } = walkOf(scope, planList(question, []), 6);
      await connection.query('FLUSH STATUS');
      await connection.query(text.replace(/\{(\w+)\}/g, '`svc_$1`'), [...values]);
      const [status] = await connection.query(`SHOW SESSION STATUS LIKE 'Handler_read%'`);
      const reads = (status as { Value: string }[]).reduce((sum, { Value }) => sum + Number(Value), 0);
      // Reads the entry, the entries of the other predicates and the record of each row, and the ends of ranges.
      expect(reads).toBeLessThan(60);
    }
    await connection.end();
  });

  test('a walk that finds a page has no further to go', async () => {
    const selection = {
      by: 'list',
      collection: documents,
      group: 'task',
      equal: { left: 'y' },
      limit: 5,
    } as const;
    const page = await store.query(scope, { ...selection, orderBy: 'rank' });
    expect(page.records.map((record) => record.listing?.id)).toEqual(
      [0, 2, 4, 6, 8].map((n) => `${n + 100_000}`),
    );
    expect(page.next).not.toBeNull();
  });
});
