import { expect, test } from 'vitest';
import { rounded, similarity } from './similarity.ts';

const vector = (...values: number[]) => Float32Array.from(values);
const largest = 3.4028234663852886e38;

test.each([
  ['cosine', vector(1, 0), vector(1, 0), 1],
  ['cosine', vector(1, 0), vector(-2, 0), -1],
  ['cosine', vector(1, 1), vector(1, 0), Math.fround(Math.SQRT1_2)],
  ['cosine', vector(0, 0), vector(1, 0), 0],
  ['cosine', vector(0, -0), vector(0, 0), 0],
  ['cosine', vector(1e-45, 0), vector(1e38, 0), 1],
  ['dotProduct', vector(1, 2), vector(3, -4), -5],
  ['dotProduct', vector(-0), vector(0), 0],
  ['dotProduct', vector(1e-30), vector(-1e-30), 0],
  ['dotProduct', vector(3e38), vector(3e38), largest],
  ['dotProduct', vector(3e38), vector(-3e38), -largest],
  ['euclidean', vector(3, 0), vector(0, 4), Math.fround(1 / 6)],
  ['euclidean', vector(1, 2), vector(1, 2), 1],
] as const)('%s of %o and %o is %d', (metric, left, right, score) => {
  expect(similarity(metric, left, right)).toBe(score);
});

test('sums are doubles in the order of the dimensions', () => {
  // In float32 sums, or from the end, the small number would be lost or kept otherwise.
  expect(similarity('dotProduct', vector(2 ** 60, 1, -(2 ** 60)), vector(1, 1, 1))).toBe(0);
  expect(similarity('dotProduct', vector(2 ** 30, 1, -(2 ** 30)), vector(1, 1, 1))).toBe(1);
});

test('a score is rounded once, and never -0 or infinite', () => {
  expect(rounded(-1e-60)).toBe(0);
  expect(rounded(0.1)).toBe(Math.fround(0.1));
  expect(rounded(1e39)).toBe(largest);
  expect(rounded(-1e300)).toBe(-largest);
});

test('vectors of different dimensions have no similarity', () => {
  expect(() => similarity('cosine', vector(1), vector(1, 2))).toThrow(RangeError);
});
