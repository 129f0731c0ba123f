import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitBatches } from './batches.ts';

const tokensOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / 3), 0);

test('texts are split in their order, no batch is beyond the limits, and none could take the next text', () => {
  const limits = fc.record({
    textsMax: fc.integer({ min: 1, max: 5 }),
    tokensMax: fc.integer({ min: 1, max: 10 }),
  });
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }), { maxLength: 30 });
  fc.assert(
    fc.property(texts, limits, (all, { textsMax, tokensMax }) => {
      const batches = splitBatches(all, { textsMax, tokensMax });
      expect(batches.flat()).toEqual(all);
      for (const [index, batch] of batches.entries()) {
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(textsMax);
        if (batch.length > 1) expect(tokensOf(batch)).toBeLessThanOrEqual(tokensMax);
        const [next] = batches[index + 1] ?? [];
        if (next !== undefined && batch.length < textsMax)
          expect(tokensOf([...batch, next])).toBeGreaterThan(tokensMax);
      }
    }),
  );
});

test('no texts need no call', () => {
  expect(splitBatches([], { textsMax: 1, tokensMax: 1 })).toEqual([]);
});
