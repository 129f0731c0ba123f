import { expect, test } from 'vitest';
import { canonicalInTurns } from './canonical-in-turns.ts';
import { CanonicalText, canonicalJson } from './canonical-json.ts';

const never = { due: () => false, next: () => Promise.resolve() };
const value = {
  b: [1, 'two', null, { z: [3, { four: 4 }], a: true }],
  left: undefined,
  ['__proto__']: { b: true },
  '2': new CanonicalText('{"made":"before"}'),
  a: {},
};

test.each([0, 1, 2, 3, 9])('writes the canonical text, %d levels deep', async (depth) => {
  expect(await canonicalInTurns(value, depth, never)).toBe(canonicalJson(value));
  const own = JSON.parse('{"__proto__":{"b":true},"a":[{}]}') as object;
  expect(await canonicalInTurns(own, depth, never)).toBe(canonicalJson(own));
});

test.each([0, 1, 2, 3])('refuses what JSON cannot hold, %d levels deep', async (depth) => {
  for (const odd of ['\ud800', Infinity, undefined, () => 1])
    await expect(canonicalInTurns([{ a: [odd] }], depth, never)).rejects.toThrow(TypeError);
});

test('lets others work between the items of a list', async () => {
  let turns = 0;
  const counted = { due: () => true, next: () => Promise.resolve(void (turns += 1)) };
  await canonicalInTurns({ items: Array.from({ length: 50 }, () => ({})) }, 2, counted);
  expect(turns).toBeGreaterThanOrEqual(50);
});
