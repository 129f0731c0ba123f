import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compactJson } from './json-slices.ts';

test('a compact text is the text without white space around its tokens', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('\t', ' ', '\n \r\n'), (value, indent) => {
      const spaced = JSON.stringify(value, null, indent);
      expect(compactJson(spaced)).toBe(JSON.stringify(value));
      expect(compactJson(` ${spaced}\r\n`)).toBe(JSON.stringify(value));
    }),
  );
});

test('white space, quotes and backslashes inside strings stay', () => {
  for (const text of ['"a \\" b"', '{"\\\\":" \\\\\\" "}', '["\\\\", "x y" ]', '1e2', '" "'])
    expect(compactJson(`\n${text}\t`)).toBe(text === '["\\\\", "x y" ]' ? '["\\\\","x y"]' : text);
});

test('a text that ends within a string is refused', () => {
  for (const text of [' "', '[ "a\\"', '{"a": "b', ` ${'"\\'.repeat(1_001)}`])
    expect(() => compactJson(text)).toThrow(SyntaxError);
});
