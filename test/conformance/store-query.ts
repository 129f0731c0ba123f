import { describe, expect, test } from 'vitest';
import type { RecordData, RecordView } from '../../functions/store/port.ts';
import { documents, fullRecord, keyOf, partsAll, plain, put, randomScope } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

export function describeQuery(suite: StoreSuite): void {
  describe('query', () => {
    describeKeys(suite);
    describeParts(suite);
  });
}

function describeKeys(suite: StoreSuite): void {
  test('by keys shows each record in the requested view, and omits missing records', async () => {
    const store = suite.store();
    const scope = randomScope();
    const parts = [{ of: keyOf('other').id, order: '1', body: 'part' }];
    const views: readonly RecordView[] = ['head', 'body', 'parts'];
    const records = views.map((view) => fullRecord(view, { due: 7, parts: [{ ...parts[0]!, order: view }] }));
    await put(store, scope, ...records);
    const keys = [
      { key: keyOf('missing') },
      { key: keyOf('head') },
      { key: keyOf('body'), view: 'body' },
      { key: keyOf('parts'), view: 'parts' },
    ] as const;
    const page = await store.query(scope, { by: 'keys', keys });
    expect(page.next).toBeNull();
    const shown = new Map(page.records.map((record) => [record.key.id, record]));
    expect([...shown.keys()].sort()).toEqual(records.map(({ key }) => key.id).sort());
    const [head, body, whole] = views.map((view) => shown.get(keyOf(view).id)) as [
      RecordData,
      RecordData,
      RecordData,
    ];
    // Omitted and not null: a write with null would remove the body.
    expect(head).toMatchObject({ key: keyOf('head'), head: records[0]?.head, due: 7 });
    expect([head.body, head.listing, head.parts ?? []]).toEqual([undefined, undefined, []]);
    expect(plain(body)).toEqual(plain({ ...records[1]!, parts: [] }));
    expect(plain(whole)).toEqual(plain(records[2]));
  });

  test('by keys with no key finds nothing', async () => {
    const page = await suite.store().query(randomScope(), { by: 'keys', keys: [] });
    expect(page).toEqual({ records: [], next: null });
  });
}

function describeParts(suite: StoreSuite): void {
  test('by parts pages through the parts that many records filed under one, both ways', async () => {
    const store = suite.store();
    const scope = randomScope();
    const of = keyOf('document').id;
    const another = keyOf('another').id;
    const records = Array.from({ length: 9 }, (_, index) => {
      const order = `${index}`.padStart(6, '0');
      const parts = [
        { of, order: `${order}a`, body: `{"revision":${index}}` },
        { of: another, order: `${order}a`, body: 'elsewhere' },
        { of, order: `${order}b`, body: `{"revision":${index}.5}` },
      ];
      return fullRecord(`commit ${index}`, { parts });
    });
    await put(store, scope, ...records.toReversed());
    const filed = records.flatMap((record) => (record.parts ?? []).filter((part) => part.of === of));
    for (const limit of [1, 2, 5, 18, 50]) {
      expect(
        await partsAll(store, scope, { collection: documents, of, direction: 'ascending', limit }),
      ).toEqual(filed);
      const descending = await partsAll(store, scope, {
        collection: documents,
        of,
        direction: 'descending',
        limit,
      });
      expect(descending).toEqual(filed.toReversed());
    }
    const none = await partsAll(store, scope, {
      collection: documents,
      of: keyOf('nowhere').id,
      direction: 'ascending',
      limit: 5,
    });
    expect(none).toEqual([]);
  });

  test('parts stay as they were when their record is replaced', async () => {
    const store = suite.store();
    const scope = randomScope();
    const of = keyOf('document').id;
    const record = fullRecord('commit', { parts: [{ of, order: '1', body: 'first' }] });
    await put(store, scope, record);
    await put(store, scope, { key: record.key, head: { revision: 2 } });
    const parts = await partsAll(store, scope, {
      collection: documents,
      of,
      direction: 'ascending',
      limit: 5,
    });
    expect(parts).toEqual([{ of, order: '1', body: 'first' }]);
  });
}
