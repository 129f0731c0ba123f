import { expect, test } from 'vitest';
import type { Metric } from '../search.ts';
import { Bounds } from './bounds.ts';
import { randomOf } from './brute-force.fixture.ts';
import { kernelOver } from './kernel.ts';

const COUNT = 101;

test.each([
  [16, 1],
  [16, 2],
  [32, 100],
  [400, COUNT],
])('the kernel multiplies a query of %d numbers with %d rows', (stride, count) => {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: 2 });
  const random = randomOf(stride);
  const rows = new Int8Array(memory.buffer, 1024, count * stride);
  const query = new Int16Array(memory.buffer, 0, stride);
  const most = Math.min(32_767, Math.floor((2 ** 31 - 1) / (127 * stride)));
  for (let at = 0; at < rows.length; at += 1) rows[at] = at < stride ? 127 : Math.round(random() * 254) - 127;
  for (let at = 0; at < stride; at += 1)
    query[at] = random() < 0.5 ? most : Math.round((random() - 0.5) * most);
  const out = new Int32Array(memory.buffer, 65_536, count + 1);
  out[count] = 7;
  kernelOver(memory).dots(0, 1024, count, stride, 65_536);
  const expected = Array.from({ length: count }, (_, row) =>
    query.reduce((sum, value, at) => sum + value * rows[row * stride + at]!, 0),
  );
  expect([...out]).toEqual([...expected, 7]);
});

const metrics: readonly Metric[] = ['cosine', 'dotProduct', 'euclidean'];

test.each(metrics.flatMap((metric) => [1, 2, COUNT].map((count) => [metric, count] as const)))(
  'by %s the kernel finds those of %d rows that reach a key',
  (metric, count) => {
    const { products, scales, residuals, norms, out, kernel } = rowsInMemory(metric.length, count + 1);
    const bounds = new Bounds(metric, Float32Array.of(3, -4, 0.5, 1e-3));
    const { scale } = bounds.query;
    const keys = Array.from({ length: count }, (_, row) =>
      bounds.key(products[row]! * scales[row]! * scale, bounds.error(residuals[row]!), norms[row]!),
    );
    const among = keys.filter((key) => !Number.isNaN(key));
    // Also the keys themselves, to the last bit, and what no row and every row reaches.
    for (const least of [...among, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]) {
      const { factor, term, slope, base, square, share } = bounds;
      const places = [products, scales, residuals, norms].map(({ byteOffset }) => byteOffset) as Places;
      const weights = [scale, factor, term, slope, base, square, share] as const;
      const found = kernel.reaching(...places, count, ...weights, least, out.byteOffset);
      const rows = keys.flatMap((key, row) => (key >= least ? [row] : []));
      expect([...out.subarray(0, found)]).toEqual(rows);
    }
  },
);

type Places = [number, number, number, number];

/** Some rows are removed, and one has no length. */
function rowsInMemory(seed: number, count: number) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  const { buffer } = memory;
  const random = randomOf(seed);
  const residualOf = (row: number) => (row % 7 === 3 ? Number.NaN : random() / 99);
  const normOf = (row: number) => (row === 5 ? 0 : 10 ** (40 * random() - 20));
  return {
    kernel: kernelOver(memory),
    norms: filled(new Float64Array(buffer, 0, count), normOf),
    products: filled(new Int32Array(buffer, 8192, count), () => (random() - 0.5) * 2 ** 31),
    scales: filled(new Float32Array(buffer, 16_384, count), () => random() / 127),
    residuals: filled(new Float32Array(buffer, 24_576, count), residualOf),
    out: new Int32Array(buffer, 32_768, count),
  };
}

function filled<Values extends Int32Array | Float32Array | Float64Array>(
  values: Values,
  valueOf: (row: number) => number,
): Values {
  for (let row = 0; row < values.length; row += 1) values[row] = valueOf(row);
  return values;
}
