import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePoint } from '../../../../../test/support/code-points.ts';
import { canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';
import { bytesAtMost, canonicalText, sameJson } from './canonical-text.ts';

const text = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.string(),
  // Names that the engine puts in an order of its own.
  fc.nat({ max: 200 }).map(String),
  fc.constantFrom(
    '',
    '01',
    '-1',
    '4294967294',
    '4294967295',
    'é',
    '\u{10000}',
    '\uffff',
    '\u2028',
    'a"\\\b\u0001',
  ),
);
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.integer(),
    fc.constantFrom(null, true, false, -0, 1e21, 5e-324, -1.7976931348623157e308),
    fc.array(tie('value')),
    fc.dictionary(text, tie('value')).map((members) => ({ ...members })),
  ),
}));
const settings = { seed: 31, numRuns: 3000 };

test('the text of a value is its canonical JSON, for any order of its members', () => {
  fc.assert(
    fc.property(json, (value) => {
      const canonical = canonicalJson(value);
      expect(canonicalText(value)).toBe(canonical);
      expect(canonicalText(JSON.parse(canonical) as Json)).toBe(canonical);
    }),
    settings,
  );
});

test.each([
  ['a lone surrogate', { text: 'a\ud800' }],
  ['a lone surrogate in a name', { ['\udc00']: 1 }],
  ['an infinite number', [1, { n: Infinity }]],
  ['what is no number', { n: Number.NaN }],
])('%s has none', (_, value) => {
  expect(() => canonicalText(value)).toThrow(TypeError);
});

/** The same value with its members in the reverse order. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, each]) => [name, reversed(each)] as const);
  return Object.fromEntries(members.reverse());
}

test('two values are the same where their texts are', () => {
  // Of few members, so that many pairs are the same or nearly so.
  const { value: small } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<Json>(null, 0, -0, 1, '', '0', 'a', false, [], {}),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0'), tie('value')).map((members) => ({ ...members })),
    ),
  }));
  let alike = 0;
  fc.assert(
    fc.property(small, small, fc.boolean(), (left, other, isCopy) => {
      const right = isCopy ? reversed(left) : other;
      const same = canonicalJson(left) === canonicalJson(right);
      if (same && typeof left === 'object' && left !== null && Object.keys(left).length > 0) alike += 1;
      expect(sameJson(left, right)).toBe(same);
      expect(sameJson(left, JSON.parse(canonicalJson(left)) as Json)).toBe(true);
    }),
    settings,
  );
  expect(alike).toBeGreaterThan(20);
});

test('a member that every object inherits is not one that it has', () => {
  const named = JSON.parse('{"__proto__":{}}') as Json;
  expect(sameJson(named, { a: 1 })).toBe(false);
  expect(sameJson(named, JSON.parse('{"__proto__":{}}') as Json)).toBe(true);
});

test('the bound is at least the number of bytes of the text', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(bytesAtMost(value)).toBeGreaterThanOrEqual(Buffer.byteLength(canonicalJson(value)));
    }),
    settings,
  );
});

test('the bound of a value that is mostly text is not many times the number of bytes', () => {
  expect(bytesAtMost({ text: 'x'.repeat(1000) })).toBeLessThan(6100);
});
