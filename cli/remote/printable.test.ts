import { expect, test } from 'vitest';
import { printable, shortened } from './printable.ts';

test('characters that move the cursor, hide text or turn it are written as escapes', () => {
  expect(printable('\u001b[2Jred\u009b1m')).toBe('\\u001b[2Jred\\u009b1m');
  expect(printable('a\u202eb\u200bc\ufeff')).toBe('a\\u202eb\\u200bc\\ufeff');
  expect(printable('one\ntwo\r\u2028three\u0000\u007f')).toBe(
    'one\\u000atwo\\u000d\\u2028three\\u0000\\u007f',
  );
  expect(printable('\ud800 \u{e0001}')).toBe('\\ud800 \\udb40\\udc01');
});

test('everything else is left as it is', () => {
  const text = 'Grüße, 世界 – 🦊 "quoted" \\ back';
  expect(printable(text)).toBe(text);
  expect(printable('one\ntwo\t', '\n')).toBe('one\ntwo\\u0009');
});

test('JSON stays the same JSON', () => {
  const value = { text: '\u0007bell\u009b\u202e', '\u200b': ['\u2029'] };
  expect(JSON.parse(printable(JSON.stringify(value, null, 2), '\n'))).toEqual(value);
});

test('a text is cut between characters, and says so', () => {
  expect(shortened('abc', 3)).toBe('abc');
  expect(shortened('abcd', 3)).toBe('ab…');
  expect(shortened('🦊🦊🦊', 2)).toBe('🦊…');
});
