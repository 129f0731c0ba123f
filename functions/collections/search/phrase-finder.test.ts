import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PhraseFinder } from './phrase-finder.ts';

const word = fc.constantFrom('a', 'b', 'ab', '𐐀');
const wordsOf = (maxLength: number) => fc.array(word, { minLength: 1, maxLength });

test('phrases are found where their words stand beside each other in one leaf', () => {
  const cases = fc.record({
    phrases: fc.array(wordsOf(4), { maxLength: 8 }),
    records: fc.array(fc.array(wordsOf(8), { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(cases, ({ phrases, records }) => {
      const asked = [...new Set(phrases.map((words) => words.join(' ')))];
      const finder = new PhraseFinder(asked);
      for (const leaves of records) {
        for (const leaf of leaves) {
          finder.begin();
          for (const each of leaf) finder.next(each);
        }
        const holds = (phrase: string) =>
          leaves.some((leaf) => ` ${leaf.join(' ')} `.includes(` ${phrase} `));
        expect([...finder.take()].sort()).toEqual(asked.filter(holds).sort());
      }
    }),
    { numRuns: 3_000 },
  );
});

test('the next word matters only where a phrase has begun', () => {
  const finder = new PhraseFinder(['a b', 'b c d']);
  finder.begin();
  expect(['x', 'a', 'b', 'c', 'x'].map((each) => finder.next(each))).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
  expect([...finder.take()]).toEqual(['a b']);
  expect(new PhraseFinder([]).isEmpty).toBe(true);
});

test('phrases with the same beginning are distinguished by their ends', () => {
  const phrases = Array.from({ length: 256 }, (_, n) => `${'a '.repeat(100)}b${n}`);
  const finder = new PhraseFinder(phrases);
  finder.begin();
  for (let n = 0; n < 1_000; n += 1) finder.next('a');
  expect(finder.next('b7')).toBe(true);
  expect([...finder.take()]).toEqual([phrases[7]]);
});
