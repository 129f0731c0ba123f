import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePoint } from '../../test/support/code-points.ts';
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

/** Also what JSON cannot hold, and members and values that are written by rules of their own. */
const anything = fc.anything({
  key: fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'toJSON', '10', '9', '\u{1f600}', '\uffff', '\ud800', ''),
    fc.string({ unit: 'grapheme' }),
  ),
  values: [
    fc.constantFrom(-0, 1e21, 5e-324, 2 ** 53, Number.NaN, undefined, '\udc00', '\u2028'),
    fc.double(),
    fc.string({ unit: codePoint }),
    fc.boolean(),
    fc.constant(null),
  ],
  maxDepth: 5,
  withNullPrototype: true,
});

test('writes, or refuses, any value as it is written at once', async () => {
  await fc.assert(
    fc.asyncProperty(anything, fc.nat({ max: 5 }), async (given, depth) => {
      const outcome = (written: Promise<string>) => written.catch((error: unknown) => String(error));
      const atOnce = Promise.resolve(given).then(canonicalJson);
      expect(await outcome(canonicalInTurns(given, depth, never))).toBe(await outcome(atOnce));
    }),
  );
});

test('lets others work between the items of a list', async () => {
  let turns = 0;
  const counted = { due: () => true, next: () => Promise.resolve(void (turns += 1)) };
  await canonicalInTurns({ items: Array.from({ length: 50 }, () => ({})) }, 2, counted);
  expect(turns).toBeGreaterThanOrEqual(50);
});
