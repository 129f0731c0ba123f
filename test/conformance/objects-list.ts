import { describe, expect, test } from 'vitest';
import { compareUtf8 } from '../../functions/kernel/utf8-order.ts';
import { MemoryBlobs } from '../simulation/memory-blobs.ts';
import { type ObjectsConformance, ObjectsStage } from './objects-stage.ts';

const KEYS = [
  'a',
  'a/',
  'a/b',
  'a/b/c',
  'a/\u{10000}',
  'a/\uffff',
  'a b',
  'ab',
  'b',
  '~',
  'é',
  'a/b.txt',
].filter((key) => !key.endsWith('/'));

/** The lists of a container, by prefix and page by page. */
export function describeObjectLists({ store }: ObjectsConformance): void {
  describe('a list of objects', () => {
    test('has the keys with the prefix in the order of their bytes, in pages of any size', async () => {
      const stage = new ObjectsStage(store(), new MemoryBlobs());
      for (const key of KEYS) await stage.put(key, Buffer.from(key));
      const sorted = KEYS.toSorted(compareUtf8);
      for (const prefix of ['', 'a', 'a/', 'a/b', 'é', 'c', 'a/b/c/d', '\u{10ffff}']) {
        const expected = sorted.filter((key) => key.startsWith(prefix));
        for (const limit of [1, 2, 5, 100]) {
          const listed: string[] = [];
          for (let after: string | null = null, isOver = false; !isOver; ) {
            const { items, next } = await stage.list({ prefix, limit, after });
            listed.push(...items.map(({ key }) => key));
            expect(items.length).toBeLessThanOrEqual(limit);
            expect(next === null || items.length === limit).toBe(true);
            isOver = next === null;
            after = next;
          }
          expect(listed, `${prefix} by ${limit}`).toEqual(expected);
        }
      }
    });

    test('shows objects as they are read, and no others', async () => {
      const stage = new ObjectsStage(store(), new MemoryBlobs());
      expect(await stage.list({ container: 'unknown' })).toEqual({ items: [], next: null });
      const info = await stage.put('a', Buffer.alloc(40_000, 1));
      await stage.put('b', Buffer.from('b'));
      await stage.remove('b');
      expect(await stage.list()).toEqual({ items: [info], next: null });
    });

    test('continues behind a key that was removed since', async () => {
      const stage = new ObjectsStage(store(), new MemoryBlobs());
      for (const key of ['a', 'b', 'c']) await stage.put(key, Buffer.from(key));
      const { items, next } = await stage.list({ limit: 2 });
      expect([items.map(({ key }) => key), next]).toEqual([['a', 'b'], 'b']);
      await stage.remove('b');
      expect((await stage.list({ limit: 2, after: next })).items.map(({ key }) => key)).toEqual(['c']);
    });
  });
}
