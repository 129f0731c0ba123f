import { hash } from 'node:crypto';

const HASH_BYTES = 32;
const NUMBER_BYTES = 4;
/** The largest 32-bit integer in single precision. */
const LARGEST = Math.fround(2_147_483_647);

/**
 * A vector of length 1 from the hash of a text. Equal texts have equal vectors; the vectors show nothing else. The hash has
 * eight numbers, which repeat in a longer vector. There is one step.
 */
export function* deterministicHashVector(text: string, dimensions: number): Generator<void, Float32Array> {
  yield;
  const digest = hash('sha256', text, 'buffer');
  const numbers = Float32Array.from(
    { length: dimensions },
    (_, at) => Math.fround(digest.readInt32LE((at * NUMBER_BYTES) % HASH_BYTES)) / LARGEST,
  );
  const squares = numbers.reduce((sum, value) => sum + Math.fround(value * value), 0);
  const length = Math.sqrt(squares);
  return length === 0 ? numbers : numbers.map((value) => value / length);
}
