import { expect, test } from 'vitest';
import { figuresOf, orderOf } from './request-floor.ts';

test('the ratio compares neighbouring chunks, so that other work on the machine slows both alike', () => {
  const round = (factor: number) => ({
    requests: { health: { frozen: [100, 900, 200], now: [100 * factor, 900 * factor, 9_000] } },
    idle: { frozen: 1, now: 2 },
  });
  expect(figuresOf([round(1.5), round(1.1), round(1.2)], ['frozen', 'now'])).toEqual({
    results: {
      health: {
        microseconds: { frozen: 200, now: 1080 },
        ofFrozen: { median: 1.2, min: 1.1, max: 1.5, ofMedians: 5.4 },
      },
    },
    idle: { frozen: 1, now: 2 },
  });
});

test('three servers take turns in every order', () => {
  const orders = Array.from({ length: 6 }, (_, chunk) => orderOf(['a', 'b', 'c'], chunk).join(''));
  expect(orders.toSorted()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
});
