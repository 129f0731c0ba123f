import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { RecordData } from '../../functions/store/port.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { documents, keyOf, openTestStore, recordNamed, scopeOf, streamOf, write } from './fixtures.ts';
import { countRpcs } from './rpc-counter.ts';

/** JSON text that does not compress below three quarters of its length. */
function incompressible(length: number): string {
  return JSON.stringify(
    randomBytes(Math.ceil(length * 0.75))
      .toString('base64')
      .slice(0, length - 2),
  );
}

describe.skipIf(firestoreMissing !== undefined)(`large writes ${firestoreMissing ?? ''}`, () => {
  const { store, client } = openTestStore();
  const rpcs = countRpcs(client);
  const scope = scopeOf('large');
  afterAll(() => store.close());

  test('a write that no commit can carry is refused before it is sent', async () => {
    const records = Array.from({ length: 7 }, (_, index) =>
      recordNamed(`${index}`, { body: incompressible(900_000) }),
    );
    rpcs.take();
    await expect(write(store, scope, ...records)).rejects.toMatchObject({ failure: 'too_large' });
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1 });
  });

  test('removed and added index entries both count', async () => {
    const small = openTestStore({ commitBytesMax: 150_000 });
    const indexes = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`index ${index}`, 'x'.repeat(100)]),
    );
    const record = recordNamed('a', { listing: { group: 'task', id: 'a', hidden: false, indexes } });
    await write(small.store, scope, record);
    // The same write again frees and makes as many entries.
    await expect(write(small.store, scope, record)).rejects.toMatchObject({ failure: 'too_large' });
    await write(small.store, scope, { key: record.key, head: {} });
    await small.store.close();
  });

  test('a record of one body too many for its document is refused', async () => {
    const indexes = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${index}`, 'x'.repeat(900)]),
    );
    const listing = { group: 'task', id: 'a', hidden: false, indexes };
    const record = recordNamed('full', { body: incompressible(1_200_000), listing });
    await expect(write(store, scope, record)).rejects.toMatchObject({ failure: 'too_large' });
  });

  test('parts that fill several documents are read back, one by one and together', async () => {
    const parts = Array.from({ length: 4 }, (_, index) => ({
      of: keyOf(`document ${index}`).id,
      order: `00000${index}`,
      body: incompressible(850_000),
    }));
    const record: RecordData = recordNamed('commit', { parts, body: '{}' });
    await write(store, scope, record);
    const keys = [{ key: record.key, view: 'parts' as const }];
    const [whole] = (await store.query(scope, { by: 'keys', keys })).records;
    expect(whole?.parts?.length).toBe(4);
    for (const part of parts) {
      expect(whole?.parts).toContainEqual(part);
      const page = await store.query(scope, {
        by: 'parts',
        collection: documents,
        of: part.of,
        direction: 'ascending',
        limit: 3,
      });
      expect(page).toEqual({ parts: [part], next: null });
    }
    const scanned: RecordData[] = [];
    for await (const page of store.scan(scope, { collections: [documents.name], pageSize: 1 })) {
      scanned.push(...page.records);
    }
    expect(scanned.map(({ key }) => key)).toEqual([record.key]);
    expect(scanned[0]?.parts).toEqual(whole?.parts);
    const listed = await store.query(scope, { by: 'list', collection: documents, limit: 5 });
    expect(listed.records).toEqual([]);
  });

  test('a removed record takes its further documents along', async () => {
    const key = keyOf('commit');
    await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [{ remove: key }], result: null }));
    const left = await client.collection(`tenants/t-large/generations/0/documents`).listDocuments();
    expect(left).toEqual([]);
  });

  test('a swap carries more than a single request could', async () => {
    const records = Array.from({ length: 8 }, (_, index) =>
      recordNamed(`${index}`, { body: incompressible(850_000) }),
    );
    await store.swap(scope, streamOf(records), () => undefined);
    const { records: found } = await store.query(scope, {
      by: 'keys',
      keys: records.map(({ key }) => ({ key, view: 'body' as const })),
    });
    expect(found.map(({ body }) => body?.length)).toEqual(records.map(({ body }) => body?.length));
  });
});
