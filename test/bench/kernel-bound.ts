import { Arena, productsMax } from '../../functions/store/nearest/arena.ts';
import { Bounds } from '../../functions/store/nearest/bounds.ts';
import { Matrix } from '../../functions/store/nearest/matrix.ts';
import { recordId } from '../../functions/store/record-id.ts';
import { round } from './load.ts';

const CALLS = 41;

/**
 * The limit that the memory of the machine sets: the median of the milliseconds in which the kernel reads a matrix of these vectors once,
 * without choosing the best.
 */
export function kernelBoundMs(count: number, vectorOf: (row: number) => Float32Array): number {
  const arena = new Arena(2 ** 32);
  const query = vectorOf(0);
  const matrix = new Matrix(query.length, {
    take: (bytes) => arena.take(bytes),
    give: (block) => arena.give(block),
    charge: (bytes) => arena.charge(bytes),
    refund: (bytes) => arena.refund(bytes),
  });
  for (let row = 0; row < count; row += 1) matrix.put(recordId(`${row}`), vectorOf(row));
  const { whole } = new Bounds('cosine', query).query;
  const times = Array.from({ length: CALLS }, () => {
    const began = performance.now();
    readOnce(matrix, whole);
    return performance.now() - began;
  });
  matrix.release();
  return round(times.sort((one, other) => one - other)[CALLS >> 1]!);
}

function readOnce({ blocks, stride }: Matrix, query: Int16Array): void {
  for (const { region, numbersAt, count } of blocks) {
    region.query.set(query);
    for (let from = 0; from < count; from += productsMax) {
      const rows = Math.min(productsMax, count - from);
      const { byteOffset } = region.products;
      region.kernel.dots(region.query.byteOffset, numbersAt + from * stride, rows, stride, byteOffset);
    }
  }
}
