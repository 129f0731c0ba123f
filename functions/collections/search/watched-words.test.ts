import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { watchedWords } from './watched-words.ts';
import { countWords, isInWord, nextWord } from './word-places.ts';
import { wordEnd, wordsOf } from './words.ts';

/** Letters of one and of two UTF-16 units, and what stands between words. */
const unit = fc.constantFrom('a', 'a', 'b', 'ß', '語', '𐐨', '𐐩', ' ', '😀', '-', '\n');
const texts = fc.string({ unit, maxLength: 40 });
const words = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', 'ß', '語', '𐐨', '𐐩'), minLength: 1, maxLength: 3 }),
  { maxLength: 6 },
);

/** Where words begin, by the pattern. */
function beginnings(text: string): readonly number[] {
  return [...text.matchAll(/[\p{L}\p{Nd}]+/gu)].map(({ index }) => index);
}

test.each([
  ['few', 100],
  ['many', 0],
])('%s watched words are found where words begin with them', (_, fewMax) => {
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 3 }), words, fc.nat(40), (given, asked, cut) => {
      const watched = watchedWords(asked, fewMax);
      for (const text of given) {
        watched.begin(text);
        const found: number[] = [];
        const end = text.length - Math.min(cut, text.length);
        for (let at = watched.next(0, end); at < end; at = watched.next(wordEnd(text, at), end))
          found.push(at);
        const all = beginnings(text).filter((place) => place < end);
        const expected = all.filter((place) => asked.some((word) => text.startsWith(word, place)));
        // Other places may be found, but they are beginnings of words, too.
        expect(found.filter((place) => expected.includes(place))).toEqual(expected);
        expect(found.filter((place) => !all.includes(place))).toEqual([]);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('a word that the text lacks is reported as absent', () => {
  const { few } = watchedWords(['ab', 'x']);
  expect(few.map(({ text }) => text)).toEqual(['ab', 'x']);
  for (const [text, absent] of [
    ['ab cd', [false, true]],
    ['xab x', [false, false]],
    ['', [true, true]],
  ] as const) {
    for (const word of few) word.begin(text);
    for (const word of few) word.next(0);
    expect(few.map(({ isAbsent }) => isAbsent)).toEqual(absent);
    for (const word of few) word.next(text.length);
    expect(few.map(({ isAbsent }) => isAbsent)).toEqual(absent);
  }
});

test('words begin, and are counted, as the pattern says', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const places: number[] = [];
      for (let at = nextWord(text, 0, text.length); at < text.length; ) {
        places.push(at);
        at = nextWord(text, wordEnd(text, at), text.length);
      }
      expect(places).toEqual(beginnings(text));
      expect(countWords(text)).toBe(wordsOf(text).length);
      const isWhole = (at: number) => /^[\p{L}\p{Nd}]/u.test(text.slice(at));
      const inside = Array.from({ length: text.length }, (_, at) => at).filter(
        (at) => isWhole(at) && isInWord(text, at),
      );
      const all = beginnings(text).flatMap((start) => {
        const end = wordEnd(text, start);
        return Array.from({ length: end - start - 1 }, (_, n) => start + 1 + n);
      });
      expect(inside).toEqual(all.filter(isWhole));
    }),
    { numRuns: 3_000 },
  );
});

test('repetitions are skipped in one step', () => {
  const text = 'a'.repeat(300_000);
  const watched = watchedWords([`${'a'.repeat(5_000)}b`]);
  watched.begin(`b${text}`);
  expect(watched.next(0, text.length + 1)).toBe(text.length + 1);
});
