import type { Metric } from './search.ts';

/**
 * The similarity of two vectors: one rule for every provider. Sums are made in double precision in the order of the
 * dimensions, and the result is rounded once to float32. Never -0, never infinite: a larger result becomes the largest
 * float32.
 */
export function similarity(metric: Metric, left: Float32Array, right: Float32Array): number {
  return similarityTo(metric, right)(left);
}

/** As `similarity`, for many vectors that are compared with one. */
export function similarityTo(metric: Metric, right: Float32Array): (left: Float32Array) => number {
  const ofEqualLength = scoreTo(metric, right);
  return (left) => {
    if (left.length !== right.length) throw new RangeError('vectors of different dimensions');
    return ofEqualLength(left);
  };
}

function scoreTo(metric: Metric, right: Float32Array): (left: Float32Array) => number {
  if (metric === 'euclidean') return (left) => rounded(1 / (1 + Math.sqrt(squaredDistance(left, right))));
  if (metric === 'dotProduct') return (left) => rounded(dotProduct(left, right));
  const rightNorm = norm(right);
  return (left) => cosine(left, right, rightNorm);
}

/**
 * One pass for both sums: each addition waits for the previous one of its sum, and the processor makes those of the
 * other sum in that time.
 */
function cosine(left: Float32Array, right: Float32Array, rightNorm: number): number {
  let product = 0;
  let square = 0;
  for (let index = 0; index < left.length; index += 1) {
    const value = left[index]!;
    product += value * right[index]!;
    square += value * value;
  }
  const norms = Math.sqrt(square) * rightNorm;
  return norms === 0 ? 0 : rounded(product / norms);
}

/** The length of a vector; a double, since the largest lengths are beyond float32. */
export function norm(vector: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index += 1) sum += vector[index]! * vector[index]!;
  return Math.sqrt(sum);
}

/** A score from a double. It never falls where the double rises, so bounds of the double give bounds of the score. */
export function rounded(value: number): number {
  const single = Math.fround(value);
  if (single > FLOAT_MAX) return FLOAT_MAX;
  // -0 and 0 are one score, and are printed alike.
  return single < -FLOAT_MAX ? -FLOAT_MAX : single + 0;
}

/** The largest finite float32. */
const FLOAT_MAX = (2 - 2 ** -23) * 2 ** 127;

function dotProduct(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index]! * right[index]!;
  return sum;
}

function squaredDistance(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) {
    const difference = left[index]! - right[index]!;
    sum += difference * difference;
  }
  return sum;
}
