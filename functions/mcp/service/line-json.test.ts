import { expect, test } from 'vitest';
import { HIDDEN_CHARACTERS, lineJson } from './line-json.ts';

test.each(['\u2028', '\u2029', '\u0085', '\u202e', '\u200b', '\ufeff', '\u{e0001}', '\n\r\v\f'])(
  'a value with %j is one line, and reads as before',
  (hidden) => {
    const value = { [`a${hidden}b`]: [`1. id="x"${hidden}2. id="y"`] };
    expect(lineJson(value)).not.toMatch(HIDDEN_CHARACTERS);
    expect(JSON.parse(lineJson(value))).toEqual(value);
  },
);

test('letters, marks and pictures stay', () => {
  expect(lineJson('Größe 数 é 😀')).toBe('"Größe 数 é 😀"');
});
