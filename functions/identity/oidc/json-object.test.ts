import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codePoint } from '../../../test/support/code-points.ts';
import { parseJsonObject } from './json-object.ts';

const parse = (text: string) => parseJsonObject(Buffer.from(text));

test('an object is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: codePoint }), fc.jsonValue({ maxDepth: 8 })), (value) => {
      const text = JSON.stringify(value, null, 1);
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 1000 },
  );
});

describe('refused is', () => {
  test.each([
    ['a member named twice', '{"aud":"a","aud":"b"}'],
    ['a member named twice in two spellings', '{"aud":"a","\\u0061ud":"b"}'],
    ['a member named twice further in', '{"a":[{"b":1,"b":1}]}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['a byte order mark', '\uFEFF{}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a text', '"{}"'],
    ['nothing', ''],
    ['two objects', '{}{}'],
    ['a trailing NUL', '{}\0'],
    ['NaN', '{"exp":NaN}'],
    ['a comment', '{}/* */'],
    ['more than 16 levels', `${'{"a":'.repeat(17)}1${'}'.repeat(17)}`],
    ['thousands of levels', `{"a":${'['.repeat(3000)}${']'.repeat(3000)}}`],
  ])('%s', (_, text) => {
    expect(parse(text)).toBeUndefined();
  });

  test.each([
    ['an overlong encoding', [0x7b, 0xc1, 0xbd, 0x7d]],
    ['half a character', [0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d]],
    ['UTF-16', [0x7b, 0, 0x7d, 0]],
  ])('%s', (_, bytes) => {
    expect(parseJsonObject(Uint8Array.from(bytes))).toBeUndefined();
  });
});

test('one name at two levels, and colons in texts, are no repetition', () => {
  const text = '{"a":{"a":{"a":":\\":\\\\"}},"b:":[":",{"a":":"}]}';
  expect(parse(text)).toEqual(JSON.parse(text));
});

test('__proto__ is a member like any other', () => {
  const value = parse('{"__proto__":{"polluted":true}}');
  expect(Object.keys(value ?? {})).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
