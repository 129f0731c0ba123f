import { describe, expect, test } from 'vitest';
import { CandidateOrder, foundMax } from './candidate-order.ts';

describe('the order of candidates', () => {
  const ordered = (most = 100) => new CandidateOrder<{ orderKey: string; held: number }>(most);
  const keys = (found: readonly { orderKey: string }[]) => found.map(({ orderKey }) => orderKey).join(' ');

  test('takes a record once no other one can stand before it', () => {
    const order = ordered();
    order.begin(2, 1);
    order.add({ orderKey: 'b', held: 1 });
    order.add({ orderKey: 'd', held: 2 });
    order.pass('c');
    expect(keys(order.take())).toBe('');
    order.pass('d');
    expect(keys(order.take())).toBe('d');
    order.begin(1, 0);
    expect(keys(order.take())).toBe('');
    order.add({ orderKey: 'a', held: 1 });
    order.pass('a');
    expect(keys(order.take())).toBe('a');
    order.pass('b');
    expect(keys(order.take())).toBe('b');
    expect(order.size).toBe(0);
  });

  test('takes none of a term whose alternatives have another term behind it', () => {
    const order = ordered();
    order.begin(1, 1);
    order.add({ orderKey: 'b', held: 1 });
    order.pass('z');
    expect(keys(order.take())).toBe('');
    order.begin(1, 0);
    order.add({ orderKey: 'a', held: 1 });
    order.pass('b');
    expect(keys(order.take())).toBe('a b');
  });

  test('takes a record that lacks terms in the index for one that holds what the later terms lead to', () => {
    const order = ordered();
    order.begin(1, 0);
    order.add({ orderKey: 'a', held: 1 });
    order.begin(0, -1);
    order.add({ orderKey: '0', held: 3 });
    order.pass('0');
    expect(keys(order.take())).toBe('a 0');
  });

  test('orders keys by their bytes', () => {
    const order = ordered();
    order.begin(1, 0);
    for (const orderKey of ['😀', '\uFFFD', 'a']) order.add({ orderKey, held: 1 });
    order.pass('\uFFFD');
    expect(keys(order.take())).toBe('a \uFFFD');
  });

  test('is full after so many records, and collects anew once all are taken', () => {
    const order = ordered(3);
    order.begin(2, 1);
    order.add({ orderKey: 'a', held: 2 });
    order.pass('a');
    expect([keys(order.take()), order.isFull, order.room]).toEqual(['a', false, 2]);
    order.add({ orderKey: 'c', held: 1 });
    order.add({ orderKey: 'b', held: 1 });
    expect([order.isFull, order.room, order.size]).toEqual([true, 0, 2]);
    expect(keys(order.takeAll())).toBe('b c');
    expect([order.isFull, order.room, order.size]).toEqual([false, 3, 0]);
  });

  test('drops the records after the first ones', () => {
    const order = ordered();
    order.begin(3, 2);
    for (const [index, orderKey] of ['c', 'a', 'b'].entries()) order.add({ orderKey, held: index + 1 });
    expect(order.keep(3)).toEqual([]);
    expect(keys(order.keep(1))).toBe('a c');
    expect(keys(order.takeAll())).toBe('b');
  });
});

test.each([
  [1, 1_000],
  [250, 1_000],
  [300, 1_200],
  [500, 2_000],
  [667, 2_667],
  [5_000, 7_000],
])('a search that scores %i candidates collects %i records', (scanLimit, most) => {
  expect(foundMax(scanLimit)).toBe(most);
});
