import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RankedExpectation, rankMetrics } from './metrics.ts';

interface Vector {
  readonly k: number;
  readonly relevances: readonly number[];
  /** 0: not found. */
  readonly ranks: readonly number[];
  readonly precision: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  readonly dcg: number;
  readonly ndcg: number;
}

/** Made once by scikit-learn; the script lies beside the file. */
const vectors = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/rank-metrics.json', import.meta.url), 'utf8'),
) as readonly Vector[];

/** A second implementation, position by position. */
function naive(expected: readonly RankedExpectation[], k: number) {
  let dcg = 0;
  let matched = 0;
  let firstRank: number | null = null;
  for (let rank = 1; rank <= k; rank += 1)
    for (const each of expected) {
      if (each.rank !== rank) continue;
      matched += 1;
      firstRank ??= rank;
      dcg += each.relevance / (Math.log(rank + 1) / Math.LN2);
    }
  const best = expected.map(({ relevance }) => relevance).sort((a, b) => b - a);
  let ideal = 0;
  for (let rank = 1; rank <= Math.min(k, best.length); rank += 1)
    ideal += (best[rank - 1] ?? 0) / (Math.log(rank + 1) / Math.LN2);
  return { matched, firstRank, dcg, ndcg: ideal === 0 ? 0 : Math.min(1, dcg / ideal) };
}

describe('the metrics of a ranking', () => {
  test('equal those of the same relevances in a smaller unit if their sum is too large for a number', () => {
    const ranks = [1, null, 3, 2];
    const of = (relevances: readonly number[]) =>
      rankMetrics(
        relevances.map((relevance, at) => ({ relevance, rank: ranks[at] ?? null })),
        4,
      );
    expect(of([1e308, 1e308, 5e307, 1e308]).ndcg).toBeCloseTo(of([2, 2, 1, 2]).ndcg, 12);
  });

  test('equal those of scikit-learn', () => {
    expect(vectors.length).toBe(48);
    for (const { k, relevances, ranks, ...known } of vectors) {
      const expected = relevances.map((relevance, at) => ({ relevance, rank: ranks[at] || null }));
      const found = rankMetrics(expected, k);
      for (const name of ['precision', 'recall', 'reciprocalRank', 'dcg', 'ndcg'] as const)
        expect(found[name], `${name} at ${k}`).toBeCloseTo(known[name], 12);
    }
  });

  test('equal those of a second implementation, also if one result matches several expected matches', () => {
    const each = fc.record({
      relevance: fc.constantFrom(0.25, 1, 2, 3),
      rank: fc.option(fc.integer({ min: 1, max: 30 })),
    });
    fc.assert(
      fc.property(
        fc.array(each, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 25 }),
        (expected, k) => {
          const found = rankMetrics(expected, k);
          const known = naive(expected, k);
          expect(found.matched).toBe(known.matched);
          expect(found.firstRank).toBe(known.firstRank);
          expect(found.dcg).toBeCloseTo(known.dcg, 10);
          expect(found.ndcg).toBeCloseTo(known.ndcg, 10);
          expect(found.recall).toBe(known.matched / expected.length);
          for (const value of [found.precision, found.recall, found.reciprocalRank, found.ndcg]) {
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });

  test('do not depend on the order of the expected matches', () => {
    const expected = [
      { relevance: 3, rank: 2 },
      { relevance: 1, rank: 7 },
      { relevance: 2, rank: null },
    ];
    expect(rankMetrics(expected, 5)).toEqual(rankMetrics([...expected].reverse(), 5));
  });
});
