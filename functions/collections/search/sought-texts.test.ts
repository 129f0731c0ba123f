import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { soughtTexts } from './sought-texts.ts';

const unit = fc.constantFrom('a', 'a', 'b', ' ', '😀', '語');
const texts = fc.uniqueArray(fc.string({ unit, minLength: 1, maxLength: 6 }), { maxLength: 8 });
const lexicons = fc.array(
  fc.array(fc.string({ unit, minLength: 1, maxLength: 14 }), { minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 3 },
);

class Found {
  readonly texts = new Set<string>();
  isExact = false;

  addText(text: string): void {
    this.texts.add(text);
  }
}

test.each([
  ['one by one', 100],
  ['together', 0],
])('texts that are looked for %s are found where they stand', (_, fewMax) => {
  fc.assert(
    fc.property(texts, lexicons, (asked, given) => {
      const sought = soughtTexts(asked, [], fewMax);
      for (const leaves of given) {
        const found = new Found();
        const lexicon = `${leaves.join('\n')}\n`;
        sought.begin(lexicon);
        let start = 0;
        for (const leaf of leaves) {
          sought.open(start, start + leaf.length);
          while (sought.readOn(found));
          expect(sought.isFound).toBe(asked.some((text) => leaf.includes(text)));
          start += leaf.length + 1;
        }
        const standing = asked.filter((text) => leaves.some((leaf) => leaf.includes(text)));
        expect([...found.texts].sort()).toEqual(standing.sort());
        expect(found.isExact).toBe(leaves.some((leaf) => asked.includes(leaf)));
      }
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ['one by one', 100, 3],
  ['together', 0, 4],
])('a long leaf is searched for texts %s in steps', (_, fewMax, steps) => {
  const long = 'ab '.repeat(70_000);
  const asked = [`${'ab '.repeat(100)}c`, `${'ab '.repeat(60)}d`, 'ab ab'];
  const sought = soughtTexts(asked, [], fewMax);
  const lexicon = `${long}c\n`;
  sought.begin(lexicon);
  sought.open(0, lexicon.length - 1);
  const found = new Found();
  let taken = 1;
  while (sought.readOn(found)) taken += 1;
  expect(taken).toBe(steps);
  expect([...found.texts].sort()).toEqual(['ab ab', asked[0]]);
  expect(found.isExact).toBe(false);
});
