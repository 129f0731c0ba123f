import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Metric } from '../search.ts';
import { similarity } from '../similarity.ts';
import { NearestProof } from './nearest-proof.ts';
import { indexedValues } from './search-fields.ts';

const metrics: readonly Metric[] = ['cosine', 'dotProduct', 'euclidean'];

/** The rank from a service that keeps every number and sum in float32 and derives distances from lengths. */
function rankOf(metric: Metric, asked: readonly number[], values: readonly number[]): number {
  const sum = (each: (index: number) => number): number =>
    asked.reduce((total, _, index) => Math.fround(total + Math.fround(each(index))), 0);
  const at = (vector: readonly number[], index: number): number => Math.fround(vector[index] ?? 0);
  const product = sum((index) => at(asked, index) * at(values, index));
  if (metric !== 'euclidean') return product;
  const lengths = Math.fround(sum((index) => at(asked, index) ** 2) + sum((index) => at(values, index) ** 2));
  return Math.fround(Math.sqrt(Math.max(0, Math.fround(lengths - 2 * product))));
}

interface Case {
  readonly metric: Metric;
  readonly asked: Float32Array;
  readonly rows: readonly Float32Array[];
}

/** Rows close to one point, so that float32 often orders them wrongly. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    metric: fc.constantFrom(...metrics),
    scale: fc.constantFrom(1, 1e-4, 300),
    asked: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 8, maxLength: 8 }),
    base: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 8, maxLength: 8 }),
    steps: fc.array(fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 8, maxLength: 8 }), {
      minLength: 4,
      maxLength: 12,
    }),
  })
  .map(({ metric, scale, asked, base, steps }) => ({
    metric,
    asked: Float32Array.from(asked, (value) => value * scale * 1.1),
    rows: steps.map((step) =>
      Float32Array.from(step, (value, index) => ((base[index] ?? 0) + value * 2 ** -22) * scale * 1.3),
    ),
  }));

/**
 * Whether a row that was not among the first `fetched` beats the `limit`-th of those, although the proof excludes it.
 */
function isFooled({ metric, asked, rows }: Case, longest: number): boolean {
  const query = indexedValues({ metric, values: asked });
  const ordered = rows
    .map((values) => {
      const rank = rankOf(metric, query, indexedValues({ metric, values }));
      return { values, rank, score: similarity(metric, asked, values) };
    })
    .toSorted((left, right) => (metric === 'euclidean' ? left.rank - right.rank : right.rank - left.rank));
  const [limit, fetched] = [1, 3];
  const first = ordered.slice(0, fetched);
  const proof = new NearestProof({ metric, values: asked }, longest);
  const lowest = first.map(({ score }) => score).toSorted((left, right) => right - left)[limit - 1] ?? 0;
  if (!proof.isSound(first)) throw new Error('a rank lies beyond the bound');
  if (!(proof.ceiling(first.at(-1)?.rank ?? 0) < lowest)) return false;
  return ordered.slice(fetched).some(({ score }) => score >= lowest);
}

function longestOf(rows: readonly Float32Array[]): number {
  return Math.max(...rows.map((row) => Math.hypot(...row)));
}

test('its proof is right, also when the service adds in float32', () => {
  fc.assert(
    fc.property(cases, (each) => {
      expect(isFooled(each, longestOf(each.rows))).toBe(false);
    }),
    { numRuns: 10_000 },
  );
});

test('without the rounding of the service it would be fooled', () => {
  const exact = { metric: 'dotProduct', values: Float32Array.of(1) } as const;
  const proof = new NearestProof(exact, 0);
  // With no length there is no room for rounding: the same sums are then beyond the bound.
  expect(proof.isSound([{ values: Float32Array.of(1), rank: 1 + 2 ** -23 }])).toBe(false);
  expect(new NearestProof(exact, 1).isSound([{ values: Float32Array.of(1), rank: 1 + 2 ** -23 }])).toBe(true);
});

test('a rank that is no number, or an overflow, proves nothing', () => {
  const values = Float32Array.of(1, 2);
  for (const metric of metrics) {
    const proof = new NearestProof({ metric, values }, 3);
    expect(proof.isSound([{ values, rank: Number.NaN }])).toBe(false);
  }
  expect(new NearestProof({ metric: 'dotProduct', values }, 1e37).isSound([])).toBe(false);
  expect(new NearestProof({ metric: 'euclidean', values }, 1e20).isSound([])).toBe(false);
  expect(new NearestProof({ metric: 'cosine', values }, 0).isSound([])).toBe(true);
});
