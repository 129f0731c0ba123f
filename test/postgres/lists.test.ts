import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import {
  documents,
  fullRecord,
  keyOf,
  listAll,
  partsAll,
  randomScope,
  streamOf,
} from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { openStore } from './fixtures.ts';

const nothing = (): void => undefined;

/** The bounds of one page, in rows walked and in bytes. */
describe.skipIf(postgresMissing !== undefined)(`pages from PostgreSQL ${postgresMissing ?? ''}`, () => {
  let store: RecordStore;

  beforeAll(() => {
    store = openStore(postgresSchema());
  });
  afterAll(() => store.close());

  test('a walk with few matches ends early, with a position to continue from', async () => {
    const scope = randomScope();
    const records = Array.from({ length: 12_003 }, (_, index): RecordData => {
      const id = `${index + 100_000}`;
      const hidden = index !== 7_000 && index !== 12_002;
      return { key: keyOf(id), head: {}, listing: { group: 'task', id, hidden, indexes: {} } };
    });
    await store.swap(scope, streamOf(records), nothing);
    const first = await store.query(scope, { by: 'list', collection: documents, limit: 5 });
    expect(first.records).toEqual([]);
    expect(first.next).not.toBeNull();
    const listed = await listAll(store, scope, { collection: documents, limit: 5 });
    expect(listed.map((record) => record.listing?.id)).toEqual(['107000', '112002']);
  });

  test('a page of large bodies is short, and none is left out', async () => {
    const scope = randomScope();
    const body = JSON.stringify('é'.repeat(1_500_000));
    const of = keyOf('document').id;
    const records = Array.from({ length: 25 }, (_, index) =>
      fullRecord(`${index + 10}`, { body, parts: [{ of, order: `${index + 10}`, body }] }),
    );
    await store.swap(scope, streamOf(records), nothing);
    const selection = { by: 'list', collection: documents, limit: 100 } as const;
    const page = await store.query(scope, selection);
    expect(page.records.length).toBeLessThan(15);
    expect(page.next).not.toBeNull();
    const names = records.map((record) => record.listing?.id);
    for (const orderBy of [{}, { orderBy: 'rank' }]) {
      const listed = await listAll(store, scope, { collection: documents, limit: 100, ...orderBy });
      expect(listed.map((record) => record.listing?.id)).toEqual(names);
    }
    const parts = await partsAll(store, scope, {
      collection: documents,
      of,
      direction: 'ascending',
      limit: 100,
    });
    expect(parts.map(({ order }) => order)).toEqual(names);
    const sizes: number[] = [];
    for await (const { records: whole } of store.scan(scope, { collections: ['documents'], pageSize: 100 })) {
      sizes.push(whole.length);
    }
    expect(Math.max(...sizes)).toBeLessThan(4);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(25);
  });

  test('a cursor that this list did not give is refused', async () => {
    const scope = randomScope();
    for (const after of ['', '{}', '[]', '[1,"a","b"]', '[null,"a"]', '[null,"a","b","c"]', 'x']) {
      const call = store.query(scope, { by: 'list', collection: documents, limit: 5, after });
      await expect(call).rejects.toThrow('is not the `next`');
    }
  });
});
