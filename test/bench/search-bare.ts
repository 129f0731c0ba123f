import { writeFile } from 'node:fs/promises';
import { round } from './load.ts';
import { SearchVectors } from './search-data.ts';
import { type SearchTask, SHAPE, TOP, timeCalls } from './search-task.ts';

/** The float32 of a unit vector and of a product are rounded: rows this near to the best are compared again in doubles. */
const CLOSE = 2 * TOP;

/** Brute force over float32 in memory: the bare limit of JavaScript, and what all answers are compared with. */
export async function measureBare({ vectors: count, queries, nearestFile }: SearchTask): Promise<object> {
  const { dimensions } = SHAPE;
  const data = new SearchVectors(SHAPE);
  const values = new Float32Array(count * dimensions);
  for (let record = 0; record < count; record += 1) values.set(unit(data.of(record)), record * dimensions);
  const close: number[][] = [];
  const asked = Array.from({ length: queries }, (_, n) => unit(data.query(n)));
  const exact = await timeCalls(queries, async (n) => {
    close[n] = highest(values, asked[n]!);
  });
  const nearest = close.map((rows, n) => nearestOf(data, rows, data.query(n)));
  await writeFile(nearestFile, JSON.stringify(nearest));
  return { exact, bytesPerRow: round(values.byteLength / count) };
}

/** The rows with the highest products, the highest first. */
function highest(values: Float32Array, query: Float32Array): number[] {
  const best: { row: number; product: number }[] = [];
  const { length } = query;
  for (let row = 0; row * length < values.length; row += 1) {
    const from = row * length;
    let product = 0;
    for (let index = 0; index < length; index += 1) product += values[from + index]! * query[index]!;
    if (best.length === CLOSE && product <= best[CLOSE - 1]!.product) continue;
    best.push({ row, product });
    best.sort((one, other) => other.product - one.product);
    best.length = Math.min(best.length, CLOSE);
  }
  return best.map(({ row }) => row);
}

/**
 * The nearest of the rows by their cosines in doubles, as the vectors were given. Scores are float32 (the contract says so): rows
 * whose scores equal that of the last place are as near, and any of them is right, so more than `TOP` rows may be given.
 */
function nearestOf(data: SearchVectors, rows: readonly number[], query: Float32Array): number[] {
  const compared = rows.map((row) => ({ row, score: Math.fround(cosineOf(data.of(row), query)) }));
  compared.sort((one, other) => other.score - one.score);
  const last = compared[Math.min(TOP, compared.length) - 1]!.score;
  return compared.filter(({ score }) => score >= last).map(({ row }) => row);
}

function cosineOf(one: Float32Array, other: Float32Array): number {
  const product = one.reduce((sum, value, index) => sum + value * other[index]!, 0);
  return product / (Math.hypot(...one) * Math.hypot(...other));
}

function unit(vector: Float32Array): Float32Array {
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}
