import { writeFile } from 'node:fs/promises';
import { round } from './load.ts';
import { SearchVectors } from './search-data.ts';
import { type SearchTask, SHAPE, TOP, timeCalls } from './search-task.ts';

/** Brute force over float32 in memory: the bare limit of JavaScript, and what all answers are compared with. */
export async function measureBare({ vectors: count, queries, nearestFile }: SearchTask): Promise<object> {
  const { dimensions } = SHAPE;
  const data = new SearchVectors(SHAPE);
  const values = new Float32Array(count * dimensions);
  for (let record = 0; record < count; record += 1) values.set(unit(data.of(record)), record * dimensions);
  const nearest: number[][] = [];
  const asked = Array.from({ length: queries }, (_, n) => unit(data.query(n)));
  const exact = await timeCalls(queries, async (n) => {
    nearest[n] = highest(values, asked[n]!);
  });
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
    if (best.length === TOP && product <= best[TOP - 1]!.product) continue;
    best.push({ row, product });
    best.sort((one, other) => other.product - one.product);
    best.length = Math.min(best.length, TOP);
  }
  return best.map(({ row }) => row);
}

function unit(vector: Float32Array): Float32Array {
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}
