import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalInSteps } from './canonical-in-steps.ts';
import { CanonicalText, canonicalJson } from './canonical-json.ts';
import { finished } from './turns.ts';

const wide = (of: (n: number) => unknown, count = 5_000) => Array.from({ length: count }, (_, n) => of(n));
const named = (of: (n: number) => unknown) =>
  Object.fromEntries(wide((n) => [`${(n * 7_919) % 10_007}é`, of(n)]) as [string, unknown][]);

test('a value has the same text in steps', () => {
  const large = fc.constantFrom(
    wide(String),
    named(String),
    wide(() => []),
    named(() => ({ b: 1, a: [2] })),
  );
  fc.assert(
    fc.property(fc.jsonValue(), large, (small, more) => {
      const value = { z: small, absent: undefined, a: [more, small], t: new CanonicalText('{"b":1}') };
      expect(finished(canonicalInSteps(value))).toBe(canonicalJson(value));
      expect(finished(canonicalInSteps(small))).toBe(canonicalJson(small));
    }),
    { numRuns: 50 },
  );
});

test.each([
  ['a lone surrogate', '\uD800'],
  ['a number that is not finite', Number.NaN],
  ['no value', undefined],
])('a large list with %s has none', (_, value) => {
  expect(() => finished(canonicalInSteps([...wide(String), value]))).toThrow(TypeError);
});

test.each([
  ['items', wide(Number, 100_000)],
  ['members', Object.fromEntries(wide((n) => [`m${n}`, n], 100_000) as [string, number][])],
  ['lists', { a: { b: wide(() => [], 100_000) } }],
])('100,000 %s are written in a step for each 2,048, at the least', (_name, value) => {
  expect([...canonicalInSteps(value)].length).toBeGreaterThan(100_000 / 2_049);
});
