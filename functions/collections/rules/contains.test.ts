import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SearchedText } from './contains.ts';

/** Texts of few letters have many borders. */
const letters = (minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom('a', 'a', 'a', 'b', '\ud800'), { minLength, maxLength })
    .map((units) => units.join(''));

describe('a searched text', () => {
  test('is found where the engine finds it, however long it is', () => {
    const texts = fc.tuple(letters(0, 260), letters(0, 20), fc.nat(3), letters(0, 260));
    fc.assert(
      fc.property(texts, letters(0, 600), ([begin, part, times, end], other) => {
        const text = begin + part.repeat(times * 10) + end;
        const searched = new SearchedText(text);
        for (const value of [
          other,
          text,
          `${begin}${text}${end}`,
          text.slice(1),
          `${text.slice(0, -1)}${text}`,
        ])
          expect(searched.isIn(value)).toBe(value.includes(text));
      }),
    );
  });

  test('that is long and nearly everywhere is searched in one pass', () => {
    const half = 'a'.repeat(100_000);
    // The engine needs some 10^10 comparisons for it, which no other test would wait for.
    const searched = new SearchedText(`${half}b${half}`);
    const value = 'a'.repeat(900_000);
    expect(searched.isIn(value)).toBe(false);
    expect(searched.isIn(`${value}b${value}`)).toBe(true);
  });
});
