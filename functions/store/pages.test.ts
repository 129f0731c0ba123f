import { describe, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { duePages, listPages, recordsOf, walkPages } from './pages.ts';
import type { Collection, RecordData } from './port.ts';
import { recordId } from './record-id.ts';

const scope = { kind: 'tenants', name: 'acme' } as const;
const events: Collection = { name: 'events', pairedIndexes: false };
const of = recordId('all');

async function filledStore(names: readonly string[], pageMax = 10): Promise<MemoryStore> {
  const store = new MemoryStore(new MemoryDatabase(), { pageMax: () => pageMax });
  for (const [index, name] of names.entries()) {
    const key = { collection: events.name, id: recordId(name) };
    const listing = { group: 'g', id: name, hidden: false, indexes: {} };
    const parts = [{ of, order: name, body: name }];
    const put: RecordData = { key, head: {}, listing, due: index, parts };
    await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [{ put }], result: null }));
  }
  return store;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const names = ['a', 'b', 'c', 'd', 'e'];
const nameOf = ({ listing }: RecordData) => listing?.id;

describe('walks of a store', () => {
  test('follow short pages of a list to its end', async () => {
    const store = await filledStore(names, 2);
    const pages = await all(listPages(store, scope, { collection: events, limit: 3 }));
    expect(pages.map(({ records }) => records.length)).toEqual([2, 2, 1]);
    const records = await all(recordsOf(listPages(store, scope, { collection: events, limit: 3 })));
    expect(records.map(nameOf)).toEqual(names);
  });

  test('begin after the page that the caller names', async () => {
    const store = await filledStore(names);
    const first = await store.query(scope, { by: 'list', collection: events, limit: 2 });
    const rest = listPages(store, scope, { collection: events, limit: 2 }, { from: first.next });
    expect((await all(recordsOf(rest))).map(nameOf)).toEqual(['c', 'd', 'e']);
  });

  test('follow due records', async () => {
    const store = await filledStore(names);
    const due = duePages(store, scope, events, { now: 3, limit: 3 });
    expect((await all(recordsOf(due))).map(nameOf)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('walkPages', () => {
  /** Pages without end: each leads to the next number. */
  function endless() {
    const asked: (string | undefined)[] = [];
    const read = ({ after }: { after?: string }) => {
      asked.push(after);
      return Promise.resolve({ next: String(Number(after ?? 0) + 1) });
    };
    return { asked, read };
  }

  test('reads no page that the caller does not ask for', async () => {
    const { asked, read } = endless();
    for await (const { next } of walkPages(read)) {
      if (next === '2') break;
    }
    expect(asked).toEqual([undefined, '1']);
  });

  test('fails after its bound where pages do not end', async () => {
    const { asked, read } = endless();
    await expect(all(walkPages(read, { pagesMax: 3 }))).rejects.toMatchObject({ failure: 'unavailable' });
    expect(asked).toHaveLength(3);
  });

  test('fails where a page leads to itself', async () => {
    const read = () => Promise.resolve({ next: 'x' });
    await expect(all(walkPages(read))).rejects.toMatchObject({ failure: 'corrupt' });
  });

  test('ends after a last page, also when that is as far as the bound', async () => {
    const read = ({ after }: { after?: string }) =>
      Promise.resolve({ next: after === undefined ? '1' : null });
    expect(await all(walkPages(read, { pagesMax: 2 }))).toHaveLength(2);
  });
});
