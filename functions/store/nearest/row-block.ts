import type { Block, Region } from './arena.ts';

/** Bytes of a row beside its numbers: norm, scale, residual, id, place. */
const BESIDE = 8 + 4 + 4 + 16 + 4;
/** Room for the alignment of the numbers. */
const ALIGNMENT = 16;

/** The rows of one block of memory, column by column. */
export interface RowBlock {
  readonly block: Block;
  readonly region: Region;
  readonly capacity: number;
  /** Rows in use, from the first on; removed ones among them. */
  count: number;
  readonly norms: Float64Array;
  /** Four words a row. */
  readonly ids: Uint32Array;
  readonly scales: Float32Array;
  /** NaN: the row is removed. */
  readonly residuals: Float32Array;
  /** Where the provider finds the vector; 0: it is not known. */
  readonly places: Uint32Array;
  /** The whole numbers, and where they begin in the region. */
  readonly numbers: Int8Array;
  readonly numbersAt: number;
}

export function capacityOf(bytes: number, stride: number): number {
  return Math.floor((bytes - ALIGNMENT) / (stride + BESIDE));
}

/** Rows of a block that had other rows before: its numbers are zeroed, since rows are padded to the stride. */
export function rowBlock(block: Block, stride: number): RowBlock {
  const { region, offset, bytes } = block;
  const { buffer } = region.memory;
  const capacity = capacityOf(bytes, stride);
  const ids = offset + 8 * capacity;
  const scales = ids + 16 * capacity;
  const residuals = scales + 4 * capacity;
  const places = residuals + 4 * capacity;
  const numbersAt = Math.ceil((places + 4 * capacity) / ALIGNMENT) * ALIGNMENT;
  const numbers = new Int8Array(buffer, numbersAt, capacity * stride);
  numbers.fill(0);
  return {
    block,
    region,
    capacity,
    count: 0,
    norms: new Float64Array(buffer, offset, capacity),
    ids: new Uint32Array(buffer, ids, 4 * capacity),
    scales: new Float32Array(buffer, scales, capacity),
    residuals: new Float32Array(buffer, residuals, capacity),
    places: new Uint32Array(buffer, places, capacity),
    numbers,
    numbersAt,
  };
}
