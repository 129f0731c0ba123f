import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { compareSortKeys, compareValues, type OrderExpression, readOrder, sortKey } from './order.ts';
import { paths, records } from './record.fixture.ts';
import { orderKey, type RecordValue } from './record-key.ts';

const fault = (pointer: string, code = 'validation_failed') =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });
const expressions: fc.Arbitrary<OrderExpression[]> = fc.array(
  fc.record({ path: paths, direction: fc.constantFrom('asc', 'DESC', 'Asc', 'desc', null) }),
  { maxLength: 3 },
);

describe('the order of a query', () => {
  test('may have 8 terms', () => {
    const terms = Array.from({ length: 8 }, () => ({ path: '/a' }));
    expect(readOrder(terms)).toHaveLength(8);
    expect(() => readOrder([...terms, { path: '/a' }])).toThrow(fault('/orderBy', 'limit_exceeded'));
    expect(readOrder(null)).toEqual([]);
  });

  test('names the term that is wrong', () => {
    expect(() => readOrder([{ path: '/a' }, { path: 'a' }])).toThrow(fault('/orderBy/1/path'));
    for (const direction of ['', 'up', 'ascending', ' asc']) {
      expect(() => readOrder([{ path: '/a', direction }])).toThrow(fault('/orderBy/0/direction'));
    }
  });

  test('puts missing and null first, then booleans, numbers, strings, arrays and objects', () => {
    const values: (Json | undefined)[] = [false, true, -1e300, -1, 0, 1.5, 2, '', '1', 'a', '\uE000', '😀'];
    for (const [index, value] of values.entries()) {
      for (const later of values.slice(index + 1)) {
        expect(compareValues(value, later), JSON.stringify([value, later])).toBeLessThan(0);
        expect(compareValues(later, value)).toBeGreaterThan(0);
      }
      for (const lowest of [undefined, null]) expect(compareValues(lowest, value)).toBeLessThan(0);
      for (const highest of [[1], { a: 1 }]) expect(compareValues(highest, value)).toBeGreaterThan(0);
    }
    expect(compareValues(undefined, null)).toBe(0);
    expect(compareValues([2], { a: 1 })).toBe(0);
    expect(Math.abs(compareValues(-0, 0))).toBe(0);
  });
});

describe('a sorted answer', () => {
  type Compare = (a: RecordValue, b: RecordValue, by: readonly OrderExpression[]) => number;
  const compare: Compare = (a, b, by) => {
    const terms = readOrder(by);
    return compareSortKeys(sortKey(a, terms), sortKey(b, terms), terms);
  };

  /** A second implementation: each value as bytes that sort, each term as one comparison of bytes. */
  const bytesOf = (record: JsonObject, path: string): Buffer => {
    let at: Json | undefined = record;
    for (const name of path.replace('$', '').split(/[./]/).slice(1)) {
      const key = ['/ID', '/partitionkey', '/Revision'].includes(path) ? fixedNames[path] : name;
      const holder: Json | undefined = at;
      if (typeof holder !== 'object' || holder === null) return Buffer.of(0);
      at = Object.entries(holder).find(([member]) => member === key)?.[1];
    }
    if (at === undefined || at === null) return Buffer.of(0);
    if (typeof at === 'boolean') return Buffer.of(1, at ? 1 : 0);
    if (typeof at === 'string') return Buffer.concat([Buffer.of(3), Buffer.from(at)]);
    return typeof at === 'object' ? Buffer.of(4) : Buffer.concat([Buffer.of(2), sortableBytes(at)]);
  };
  const fixedNames: Readonly<Record<string, string>> = {
    '/ID': 'id',
    '/partitionkey': 'partitionKey',
    '/Revision': 'revision',
  };
  const sortableBytes = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value + 0);
    const negative = (bytes[0] ?? 0) > 127;
    return Buffer.from(bytes.map((byte, at) => (negative ? 255 - byte : at === 0 ? byte + 128 : byte)));
  };
  const naive: Compare = (a, b, by) => {
    const differences = by.map(
      ({ path, direction }) =>
        Buffer.compare(bytesOf(a, path), bytesOf(b, path)) * (/desc/i.test(direction ?? '') ? -1 : 1),
    );
    const tie = Buffer.compare(Buffer.from(orderKey(a)), Buffer.from(orderKey(b)));
    return [...differences, tie].find((difference) => difference !== 0) ?? 0;
  };

  const disagreement = (other: Compare) =>
    fc.check(
      fc.property(records, records, expressions, (a, b, by) => {
        expect(Math.sign(other(a, b, by))).toBe(naive(a, b, by));
      }),
      { numRuns: 6_000 },
    ).counterexample;

  test('agrees with a second implementation', () => {
    expect(disagreement((a, b, by) => compare(a, b, by) || 0)).toBeNull();
  });

  const planted: [string, Compare][] = [
    ['a last term that is ignored', (a, b, by) => compare(a, b, by.slice(0, -1))],
    [
      'desc as asc',
      (a, b, by) =>
        compare(
          a,
          b,
          by.map(({ path }) => ({ path })),
        ),
    ],
    [
      'ties that follow the direction',
      (a, b, by) => compare(a, b, [...by, { path: '/id', direction: 'desc' }]),
    ],
    [
      'no tie-breaker',
      (a, b, by) => compare({ ...a, id: '1', partitionKey: 'p' }, { ...b, id: '1', partitionKey: 'p' }, by),
    ],
  ];
  test.each(planted)('the comparison finds %s', (_, wrong) => {
    expect(disagreement(wrong)).not.toBeNull();
  });

  test('is a total order', () => {
    fc.assert(
      fc.property(records, records, records, expressions, (a, b, c, by) => {
        expect(Math.sign(compare(a, b, by))).toBe(Math.sign(-compare(b, a, by)) + 0);
        if (compare(a, b, by) <= 0 && compare(b, c, by) <= 0)
          expect(compare(a, c, by)).toBeLessThanOrEqual(0);
        if (orderKey(a) !== orderKey(b)) expect(compare(a, b, by)).not.toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });
});
