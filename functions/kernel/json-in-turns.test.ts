import { expect, test } from 'vitest';
import { jsonInTurns } from './json-in-turns.ts';

const never = { due: () => false, next: () => Promise.resolve() };
const value = {
  a: [1, 'two', null, { three: [3, { four: 4 }] }],
  left: undefined,
  ['__proto__']: { b: true },
  '2': 'x"y',
  '1': {},
};

test.each([0, 1, 2, 3, 9])('writes what JSON.stringify writes, %d levels deep', async (depth) => {
  const own = JSON.parse('{"__proto__":{"b":true},"a":[{}]}') as object;
  expect(await jsonInTurns(value, depth, never)).toBe(JSON.stringify(value));
  expect(await jsonInTurns(own, depth, never)).toBe(JSON.stringify(own));
});

test('lets others work between the items of a list', async () => {
  let turns = 0;
  const counted = { due: () => true, next: () => Promise.resolve(void (turns += 1)) };
  await jsonInTurns({ items: Array.from({ length: 50 }, () => ({})) }, 2, counted);
  expect(turns).toBeGreaterThanOrEqual(50);
});
