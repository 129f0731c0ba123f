import { expect, test } from 'vitest';
import { afterPrefix } from './prefixes.ts';

const compare = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

test.each(['a', 'p\u0001', 'z\u{10ffff}', 'ü', '\ud7ff', '😀', 'a\u007f'])(
  'the text after all that begin with %j is above them and not above others',
  (prefix) => {
    const end = afterPrefix(prefix) ?? '';
    for (const rest of ['', '\u0000', 'z', '\u{10ffff}\u{10ffff}']) {
      expect(compare(prefix + rest, end)).toBe(-1);
    }
    expect(compare(prefix, end)).toBe(-1);
    expect(end.startsWith(prefix)).toBe(false);
    expect(Buffer.from(end).toString()).toBe(end);
  },
);

test('no text follows all texts', () => {
  expect(afterPrefix('')).toBeUndefined();
  expect(afterPrefix('\u{10ffff}\u{10ffff}')).toBeUndefined();
});
