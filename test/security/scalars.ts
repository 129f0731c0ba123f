import * as fc from 'fast-check';
import type { Json, Schema } from '../../contracts/generate/schema.ts';
import { codePoint } from '../support/code-points.ts';

/** Texts that have broken programs before, as content: each is a legal string where no rule forbids it. */
export const hostileTexts: readonly string[] = [
  [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__id7__',
    'con',
    'null',
    '*',
    '~1',
  ],
  ['.', '..', '../../etc/passwd', '%2e%2e%2f', 'a/b', 'a\\b', 'a%2Fb', 'a?b#c', 'a;b', 'a|b', 'a:b', 'a,b'],
  [
    ' ',
    ' a ',
    '\t',
    'a\r\nSet-Cookie: b=c',
    '\u0000',
    '\u001b[31mred',
    '\u007f',
    '\u0085',
    '\u2028',
    '\u2029',
  ],
  [
    '\u202eevil',
    '\u200b',
    '\ufeff',
    'e\u0301',
    '\u00e9',
    '\uff0f',
    '\u2215',
    '\ud800',
    '\udc00',
    '😀',
    '\uffff',
  ],
  [
    `' OR '1'='1`,
    `"; DROP TABLE records; --`,
    '\u0024{jndi:ldap://x}',
    '{{7*7}}',
    '<script>alert(1)</script>',
  ],
  ['NaN', 'Infinity', '1e400', '-0', '9007199254740993', '{"a":1}', '[', '"'],
].flat();

const plain = fc.stringMatching(/^[a-z0-9][a-z0-9._:-]{0,11}$/);
const strange = fc.string({ unit: codePoint, maxLength: 12 });

/** Texts that a schema of strings allows. Lengths are counted in code points, as JSON Schema counts them. */
export function texts(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date-time') return moments;
  if (schema.format !== undefined) throw new Error(`the format ${schema.format} is not known to the attacks`);
  const { minLength: least = 0, maxLength: most = 1_000, pattern } = schema;
  const key = JSON.stringify([least, most, pattern]);
  const values = knownTexts.get(key) ?? textsWithin(least, most, pattern);
  knownTexts.set(key, values);
  return values;
}

/** A contract has thousands of strings and a handful of bounds, and each arbitrary takes milliseconds to build. */
const knownTexts = new Map<string, fc.Arbitrary<string>>();

function textsWithin(least: number, most: number, pattern: string | undefined): fc.Arbitrary<string> {
  const fits = (text: string): boolean => {
    const { length } = Array.from(text);
    return length >= least && length <= most;
  };
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern, 'u')).filter(fits);
  }
  const edges = ['a', '\u00e9', '\u{1f600}'].flatMap((unit) =>
    [least, least + 1, most].filter((length) => length <= 5_000).map((length) => unit.repeat(length)),
  );
  const constants = (candidates: readonly string[]) =>
    candidates.filter(fits).map((text) => fc.constant(text));
  const choices: fc.WeightedArbitrary<string>[] = [
    { weight: 10, arbitrary: plain.filter(fits) },
    { weight: 1, arbitrary: strange.filter(fits) },
  ];
  for (const candidates of [constants(hostileTexts), constants(edges)]) {
    if (candidates.length > 0) choices.push({ weight: 1, arbitrary: fc.oneof(...candidates) });
  }
  return fc.oneof(...choices);
}

export function numbers(type: 'integer' | 'number', schema: Schema): fc.Arbitrary<Json> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const least = minimum ?? exclusiveMinimum;
  const most = maximum ?? exclusiveMaximum;
  if (type === 'integer') {
    return fc.oneof(
      fc.integer({
        min: Math.ceil(exclusiveMinimum === undefined ? (least ?? -1_000) : exclusiveMinimum + 1),
        max: Math.floor(exclusiveMaximum === undefined ? (most ?? 100_000) : exclusiveMaximum - 1),
      }),
      fc.constantFrom(...[minimum, maximum].map((bound) => bound ?? minimum ?? maximum ?? 1)),
    );
  }
  return fc.double({
    noNaN: true,
    noDefaultInfinity: true,
    ...(least === undefined ? {} : { min: least, minExcluded: exclusiveMinimum !== undefined }),
    ...(most === undefined ? {} : { max: most, maxExcluded: exclusiveMaximum !== undefined }),
  });
}

const clockTimes = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59Z'),
  noInvalidDate: true,
});

/** RFC 3339 in the ways it can be written, most of them near our time. */
const moments: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02t03:04:05.123456789z', '2026-01-02T03:04:05+23:59'),
  fc.constantFrom('0000-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59', '2024-02-29T23:59:59.9Z'),
  clockTimes.map((date) => date.toISOString()),
);
