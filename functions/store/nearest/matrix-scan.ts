import { productsMax, type Region } from './arena.ts';
import type { Bounds } from './bounds.ts';
import type { NearestCandidates } from './candidates.ts';
import type { Matrix } from './matrix.ts';
import type { RowBlock } from './row-block.ts';

/** The cost of a row beside its numbers, in bytes. */
const BYTES_A_ROW = 256;

export interface Scan {
  readonly bounds: Bounds;
  /** Positions of rows whose values in the matrix differ from those of the moment. */
  readonly masked: ReadonlySet<number>;
}

/** Compares the query with every row. Pauses so that others get their turn; the matrix may change during a pause. */
export function* scanAll(
  matrix: Matrix,
  scan: Scan,
  candidates: NearestCandidates,
  bytesPerTurn: number,
): Generator<void, void> {
  let bytes = 0;
  for (let number = 0; number < matrix.blocks.length; number += 1) {
    for (let from = 0; from < matrix.blocks[number]!.count; from += productsMax) {
      const count = Math.min(productsMax, matrix.blocks[number]!.count - from);
      scanRows(matrix, scan, candidates, matrix.firstOf(number) + from, count);
      bytes += count * (matrix.stride + BYTES_A_ROW);
      if (bytes < bytesPerTurn) continue;
      bytes = 0;
      yield;
    }
  }
}

/** Compares the query with the rows at these positions, without a pause between them. */
export function scanSome(
  matrix: Matrix,
  scan: Scan,
  candidates: NearestCandidates,
  positions: readonly number[],
): void {
  let given: Region | null = null;
  for (const position of positions) {
    const { block, row } = matrix.at(position);
    if (given !== block.region) giveQuery(block.region, scan.bounds);
    given = block.region;
    multiply(block, row, 1, matrix.stride);
    offerRow(block, row, given.products[0]!, scan, candidates, position);
  }
}

/** Rows of one block, from a position on. */
function scanRows(
  matrix: Matrix,
  scan: Scan,
  candidates: NearestCandidates,
  position: number,
  count: number,
): void {
  const { block, row: from } = matrix.at(position);
  const { products, reaching } = block.region;
  giveQuery(block.region, scan.bounds);
  multiply(block, from, count, matrix.stride);
  const found = rowsReaching(block, from, count, scan.bounds, candidates.worst);
  for (let index = 0; index < found; index += 1) {
    const at = reaching[index]!;
    offerRow(block, from + at, products[at]!, scan, candidates, position + at);
  }
}

function offerRow(
  { norms, scales, residuals }: RowBlock,
  row: number,
  product: number,
  { bounds, masked }: Scan,
  candidates: NearestCandidates,
  position: number,
): void {
  const norm = norms[row]!;
  const cosine = product * scales[row]! * bounds.query.scale;
  const error = bounds.error(residuals[row]!);
  // Not below, and not NaN as for a removed row.
  if (!(bounds.key(cosine, error, norm) >= bounds.leastKey(candidates.worst)) || masked.has(position)) return;
  candidates.offer(position, bounds.lower(cosine, error, norm), bounds.upper(cosine, error, norm));
}

/** Other searches use the region's query between two turns, so it is set each time. */
function giveQuery(region: Region, { query }: Bounds): void {
  region.query.set(query.whole);
}

/** Writes the products into the region. */
function multiply({ region, numbersAt }: RowBlock, from: number, count: number, stride: number): void {
  const { kernel, query, products } = region;
  kernel.dots(query.byteOffset, numbersAt + from * stride, count, stride, products.byteOffset);
}

/** Writes the numbers of candidate rows into the region, counted from the first one. Most rows are no candidates. */
function rowsReaching(
  { region, scales, residuals, norms }: RowBlock,
  from: number,
  count: number,
  bounds: Bounds,
  worst: number,
): number {
  const { kernel, products, reaching } = region;
  const { factor, term, slope, base, square, share } = bounds;
  return kernel.reaching(
    products.byteOffset,
    scales.byteOffset + 4 * from,
    residuals.byteOffset + 4 * from,
    norms.byteOffset + 8 * from,
    count,
    bounds.query.scale,
    factor,
    term,
    slope,
    base,
    square,
    share,
    bounds.leastKey(worst),
    reaching.byteOffset,
  );
}
