import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import {
  checkPartitionKey,
  checkRecordId,
  orderKey,
  type PartitionedKey,
  partitionPrefix,
} from './record-key.ts';
import { cutToBytes } from './text-order.ts';

/** The order of a collection's listing, the same on every provider. */
const compareRecordKeys = (a: PartitionedKey, b: PartitionedKey) => compareUtf8(orderKey(a), orderKey(b));

const fault = (pointer: string, code = 'validation_failed') =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });
const bytesOrder = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
const texts = fc
  .string({
    unit: fc.constantFrom('a', 'b', '~', 'é', '\uD7FF', '\uE000', '\uFFFF', '😀', '\u{10FFFF}'),
    maxLength: 6,
  })
  .map((text) => text);
const runs = { numRuns: 5_000 };

describe('a record id', () => {
  test.each(['1', ' a ', 'ü', '😀', '...', 'a:b%', 'x'.repeat(1023), 'é'.repeat(511)])('may be %j', (id) => {
    expect(checkRecordId(id, '/id')).toBe(id);
  });

  test.each(['', ' ', '\t\n', '.', '..', 'a/b', 'a\\b', 'a?', '#a', 'a\0', '\uD800', 'a\uDC00'])(
    'may not be %j',
    (id) => {
      expect(() => checkRecordId(id, '/records/3/id')).toThrow(fault('/records/3/id'));
    },
  );

  test.each(['x'.repeat(1024), 'é'.repeat(512)])('has at most 1023 bytes', (id) => {
    expect(() => checkRecordId(id, '/id')).toThrow(fault('/id', 'limit_exceeded'));
  });
});

describe('a partition key', () => {
  test.each(['a/b', '?#\\', '/', 'x'.repeat(2048), '😀'.repeat(512)])('may be %j', (key) => {
    expect(checkPartitionKey(key, '/partitionKey')).toBe(key);
  });

  test.each(['', '  ', '.', '..', '\0', 'a\0b', '\uDC00'])('may not be %j', (key) => {
    expect(() => checkPartitionKey(key, '/partitionKey')).toThrow(fault('/partitionKey'));
  });

  test('has at most 2048 bytes', () => {
    expect(() => checkPartitionKey(`${'😀'.repeat(512)}a`, '/k')).toThrow(fault('/k', 'limit_exceeded'));
  });
});

describe('the order of texts', () => {
  test('is that of their UTF-8 bytes', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(bytesOrder(a, b));
      }),
      runs,
    );
  });

  test('differs from the order of UTF-16 units, which the comparison finds', () => {
    expect(compareUtf8('\uFFFF', '😀')).toBeLessThan(0);
    const units = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
    const property = fc.property(texts, texts, (a, b) => units(a, b) === bytesOrder(a, b));
    expect(fc.check(property, runs).failed).toBe(true);
  });

  test('a cut keeps the longest whole prefix', () => {
    fc.assert(
      fc.property(texts, fc.nat(12), (text, bytesMax) => {
        const cut = cutToBytes(text, bytesMax);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytesMax);
        const [next] = text.slice(cut.length);
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(bytesMax);
      }),
      runs,
    );
  });
});

describe('an order key', () => {
  const keys = fc.record({ partitionKey: texts, id: texts });
  const isCutForm = (text: string) => /^.{1,316}~[A-Za-z0-9_-]{43}$/su.test(text);

  test('holds short parts whole', () => {
    expect(orderKey({ partitionKey: 'p/1', id: 'é' })).toBe('p/1\u0001é');
    const longest = 'x'.repeat(360);
    expect(orderKey({ partitionKey: longest, id: longest })).toBe(`${longest}\u0001${longest}`);
  });

  test('cuts a part of more than 360 bytes to 316, ~ and its hash', () => {
    expect(orderKey({ partitionKey: 'p', id: 'x'.repeat(361) })).toBe(
      `p\u0001${'x'.repeat(316)}~t5zG0kC6m7mC3kGIrO1T8B2hbU7A_f1WL4qwWw2WzWA`,
    );
    const [part = ''] = orderKey({ partitionKey: `xx${'😀'.repeat(100)}`, id: '1' }).split('\u0001');
    expect(isCutForm(part)).toBe(true);
    expect(Buffer.byteLength(part)).toBe(358);
  });

  test('has at most 721 bytes', () => {
    const key = orderKey({ partitionKey: '😀'.repeat(512), id: 'é'.repeat(511) });
    expect(Buffer.byteLength(key)).toBeLessThanOrEqual(721);
  });

  test('orders records by partition key and then id', () => {
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        const expected = bytesOrder(a.partitionKey, b.partitionKey) || bytesOrder(a.id, b.id);
        expect(Math.sign(compareRecordKeys(a, b))).toBe(expected);
      }),
      runs,
    );
  });

  test('orders parts that hold its separator and its escape as they are, and joins no two keys', () => {
    const odd = fc.string({ unit: fc.constantFrom('\u0001', '\u0002', '\u0003', 'a'), maxLength: 4 });
    const oddKeys = fc.record({ partitionKey: odd, id: odd });
    const holds = (compare: (a: PartitionedKey, b: PartitionedKey) => number) =>
      !fc.check(
        fc.property(oddKeys, oddKeys, (a, b) => {
          const expected = bytesOrder(a.partitionKey, b.partitionKey) || bytesOrder(a.id, b.id);
          return Math.sign(compare(a, b)) === expected;
        }),
        { numRuns: 5_000 },
      ).failed;
    expect(holds(compareRecordKeys)).toBe(true);
    const plain = ({ partitionKey, id }: PartitionedKey) => `${partitionKey}\u0001${id}`;
    expect(holds((a, b) => compareUtf8(plain(a), plain(b)))).toBe(false);
  });

  test('begins with the prefix of its partition, and no other partition has that prefix', () => {
    fc.assert(
      fc.property(keys, texts, (key, other) => {
        expect(orderKey(key).startsWith(partitionPrefix(key.partitionKey))).toBe(true);
        if (other !== key.partitionKey) expect(orderKey(key).startsWith(partitionPrefix(other))).toBe(false);
      }),
      runs,
    );
  });

  test('orders long parts as far as they differ before the cut', () => {
    const long = fc.tuple(texts, texts).map(([a, b]) => `${a}${'x'.repeat(280)}${b}${'y'.repeat(100)}`);
    fc.assert(
      fc.property(long, long, (a, b) => {
        const [left, right] = [a, b].map((id) => orderKey({ partitionKey: 'p', id }));
        const heads = [a, b].map((text) => cutToBytes(text, 313));
        if (heads[0] === heads[1]) return;
        expect(Math.sign(compareUtf8(left ?? '', right ?? ''))).toBe(bytesOrder(a, b));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is unlike that of every other record, also of one that is named like a cut key', () => {
    const long = ['x'.repeat(500), 'x'.repeat(501), '😀'.repeat(100), `é${'😀'.repeat(100)}`];
    const ids = new Set([...long, ...long.map((text) => text.slice(0, 300))]);
    // A set also visits what is added meanwhile: each name also gives one that is its own cut key.
    for (const id of ids) {
      if (ids.size < 40) ids.add(partOf({ partitionKey: 'p', id }));
    }
    expect(new Set([...ids].map((id) => orderKey({ partitionKey: 'p', id }))).size).toBe(ids.size);
    expect(ids.size).toBe(40);
  });

  function partOf(key: PartitionedKey): string {
    return orderKey(key).split('\u0001')[1] ?? '';
  }
});
