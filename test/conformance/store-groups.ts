import { beforeAll, describe, expect, test } from 'vitest';
import { listPages, recordsOf } from '../../functions/store/pages.ts';
import type { ListSelection, RecordData, Scope } from '../../functions/store/port.ts';
import {
  compareBytes,
  grouped,
  keyOf,
  plain,
  put,
  randomScope,
  read,
  scanAll,
  streamOf,
  transact,
} from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

type Asked = Omit<ListSelection, 'by' | 'after' | 'collection' | 'limit'>;

const groups = ['0'.repeat(32), '0123456789abcdef'.repeat(2), 'f'.repeat(32)];
const [first = '', middle = ''] = groups;

/** Listing ids as order keys give them: two parts, a separator, escapes, and the greatest length. */
const long = 'é'.repeat(180);
const ids = [
  'a\u0001a',
  'a\u0001a\u0002\u0001',
  'a\u0001a\u0002\u0002',
  'a\u0001b',
  'a\u0002\u0001b\u0001a',
  'aa\u0001a',
  '\uFFFD\u0001a',
  '😀\u0001a',
  `${long}\u0001${long}`,
  `${long}\u0001${'é'.repeat(179)}z`,
];

const nameOf = (n: number) => `/metadata/${String(n).padStart(2, '0')}${'x'.repeat(52)}`;
const [byText, byNumber, byLength] = [nameOf(0), nameOf(1), nameOf(2)];

/** 32 indexes; the first three differ between records, and the third holds the longest values. */
function recordIn(group: string, n: number): RecordData {
  const id = ids[n] ?? '';
  const rest = Object.fromEntries(Array.from({ length: 29 }, (_, at) => [nameOf(at + 3), 's'.repeat(10)]));
  const indexes = {
    ...rest,
    [byText]: n % 2 === 0 ? 'seven' : 'sodd',
    [byNumber]: `n${n}`,
    [byLength]: `s${'é'.repeat(383)}${n % 3}`,
  };
  const key = { collection: grouped.name, id: keyOf(`${group}/${n}`, grouped).id };
  return { key, head: { n }, body: `{"n":${n}}`, listing: { group, id, hidden: false, indexes } };
}

export function describeGroups(suite: StoreSuite): void {
  describe('a collection that is listed by group', () => {
    const scope: Scope = { ...randomScope(), kind: 'spaces' };
    beforeAll(async () => {
      for (const group of groups) await put(suite.store(), scope, ...ids.map((_, n) => recordIn(group, n)));
    });

    async function listed(asked: Asked, limit = 3): Promise<string[]> {
      const pages = listPages(suite.store(), scope, { collection: grouped, limit, ...asked });
      const found: string[] = [];
      for await (const { listing } of recordsOf(pages)) {
        expect(listing?.group).toBe(asked.group);
        found.push(listing?.id ?? '');
      }
      return found;
    }
    const sorted = (wanted: (n: number) => boolean) =>
      ids.filter((_, n) => wanted(n)).sort((left, right) => compareBytes(left, right));

    test('lists by id, in the order of bytes, at the greatest lengths', async () => {
      for (const group of groups) expect(await listed({ group })).toEqual(sorted(() => true));
      const descending = await listed({ group: middle, direction: 'descending' });
      expect(descending).toEqual(sorted(() => true).reverse());
    });

    test('lists by an equality, from any id on', async () => {
      const even = sorted((n) => n % 2 === 0);
      const asked = { group: middle, equal: { [byText]: 'seven' } };
      expect(await listed(asked)).toEqual(even);
      expect(await listed({ ...asked, afterId: even[1] ?? '' })).toEqual(even.slice(2));
      expect(await listed({ ...asked, afterId: 'a\u0001a\u0001' })).toEqual(
        even.filter((id) => compareBytes(id, 'a\u0001a\u0001') > 0),
      );
      expect(await listed({ ...asked, equal: { ...asked.equal, [byNumber]: 'n4' } })).toEqual([ids[4]]);
    });

    test('lists by a range, in the order of its values', async () => {
      const range = { index: byNumber, from: 'n2', to: 'n6' };
      const asked = { group: middle, range, orderBy: byNumber };
      expect(await listed(asked)).toEqual(ids.slice(2, 7));
      expect(await listed({ ...asked, direction: 'descending' })).toEqual(ids.slice(2, 7).reverse());
      expect(await listed({ group: middle, range })).toEqual(sorted((n) => n >= 2 && n <= 6));
    });

    test('orders equal values of the greatest length by id', async () => {
      const values = [0, 1, 2].flatMap((value) => sorted((n) => n % 3 === value));
      expect(await listed({ group: middle, orderBy: byLength }, 2)).toEqual(values);
      const equal = { [byLength]: `s${'é'.repeat(383)}1` };
      expect(await listed({ group: middle, equal }, 2)).toEqual(sorted((n) => n % 3 === 1));
    });

    test('refuses a list of all groups', async () => {
      const call = suite.store().query(scope, { by: 'list', collection: grouped, limit: 5 });
      await expect(call).rejects.toThrow('names no group');
    });

    test('a record that moves, changes or leaves is found where it is, and nowhere else', async () => {
      const store = suite.store();
      const other: Scope = { ...randomScope(), kind: 'spaces' };
      const listedIn = async (asked: Asked) => {
        const page = await store.query(other, { by: 'list', collection: grouped, limit: 9, ...asked });
        return page.records.map(({ head }) => head['n']);
      };
      const record = recordIn(first, 1);
      await put(store, other, record, recordIn(first, 2));
      const moved = { ...recordIn(middle, 4), key: record.key };
      await put(store, other, moved);
      expect(await listedIn({ group: first, orderBy: byNumber })).toEqual([2]);
      expect(await listedIn({ group: first, equal: { [byNumber]: 'n1' } })).toEqual([]);
      expect(await listedIn({ group: middle, equal: { [byNumber]: 'n4' } })).toEqual([4]);
      await transact(store, other, [record.key], () => ({ writes: [{ remove: record.key }], result: null }));
      for (const asked of [{ orderBy: byNumber }, { equal: { [byText]: 'seven' } }, {}])
        expect(await listedIn({ group: middle, ...asked })).toEqual([]);
    });

    test('a space is scanned and replaced whole', async () => {
      const store = suite.store();
      const other: Scope = { ...randomScope(), kind: 'spaces' };
      const tenant = { kind: 'tenants', name: other.name } as const;
      await put(store, tenant, recordIn(first, 0));
      const records = groups.flatMap((group) => ids.map((_, n) => recordIn(group, n)));
      await put(store, other, recordIn(first, 3));
      await store.swap(other, streamOf(records), () => undefined);
      const scanned = await scanAll(store, other, [grouped.name]);
      const byKey = (left: RecordData, right: RecordData) => compareBytes(left.key.id, right.key.id);
      expect(scanned.map(plain)).toEqual(records.toSorted(byKey).map(plain));
      const page = await store.query(other, {
        by: 'list',
        collection: grouped,
        group: middle,
        range: { index: byNumber, from: 'n8' },
        orderBy: byNumber,
        limit: 5,
      });
      expect(page.records.map(({ head }) => head['n'])).toEqual([8, 9]);
      const failing = store.swap(other, streamOf([]), () => Promise.reject(new Error('no')));
      await expect(failing).rejects.toThrow('no');
      await store.sweep(other);
      expect(await scanAll(store, other, [grouped.name])).toHaveLength(records.length);
      expect(await read(store, tenant, recordIn(first, 0).key)).toBeDefined();
    });
  });
}
