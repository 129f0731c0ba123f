import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finished } from '../../kernel/turns.ts';
import type { Metric } from '../../store/search.ts';
import { type CollectionHits, cutAt, fuse, type Hit, isInKeyOrder, normalizedSimilarity } from './fusion.ts';
import { type HybridOptions, readHybrid } from './hybrid.ts';

const weighted = readHybrid({}, '');
const rrf = readHybrid({ fusion: 'rrf' }, '');
const hits = (scores: Readonly<Record<string, number>>): Hit[] =>
  Object.entries(scores).map(([id, score]) => ({ id, score }));
const cosine = (scores: Readonly<Record<string, number>>, weight = 1) => ({
  weight,
  metric: 'cosine' as const,
  hits: hits(scores),
});
const scoresOf = (found: CollectionHits, options = weighted) =>
  finished(fuse(found, options)).map(({ id, score }) => [id, score]);

describe('a similarity from 0 to 1', () => {
  test.each<[Metric, number, number]>([
    ['cosine', 1, 1],
    ['cosine', 0, 0.5],
    ['cosine', -1, 0],
    ['cosine', 1.000001, 1],
    ['euclidean', 0.25, 0.25],
    ['euclidean', 1.5, 1],
    ['dotProduct', -3, 0],
    ['dotProduct', 0, 0],
    ['dotProduct', 3, 0.75],
  ])('of %s %s is %s', (metric, score, normal) => {
    expect(normalizedSimilarity(metric, score)).toBe(normal);
  });
});

describe('the results of one collection', () => {
  test('of one vector have the raw similarity', () => {
    const found = { vectors: [cosine({ a: 0.5, b: -0.25 })], lexical: null };
    expect(scoresOf(found)).toEqual([
      ['a', 0.5],
      ['b', -0.25],
    ]);
    expect(finished(fuse(found, weighted))[1]).toMatchObject({
      vector: -0.25,
      vectorNormalized: 0.375,
      vectorRank: 2,
    });
  });

  test('of several vectors have the weighted mean, in which a missing one counts as 0', () => {
    const vectors = [cosine({ a: 1, b: 0 }, 3), cosine({ b: 1 }, 1)];
    expect(scoresOf({ vectors, lexical: null })).toEqual([
      ['a', 0.75],
      ['b', (0.5 * 3 + 1) / 4],
    ]);
    expect(finished(fuse({ vectors, lexical: null }, weighted))[1]).toMatchObject({
      vector: null,
      fields: [0, 1],
      vectorRank: 1,
    });
  });

  test('of both kinds are weighed, also if only one search found them', () => {
    const found = { vectors: [cosine({ a: 1, b: 0 })], lexical: hits({ c: 1, b: 0.5 }) };
    expect(scoresOf(found)).toEqual([
      ['a', 0.55],
      ['b', 0.55 * 0.5 + 0.45 * 0.5],
      ['c', 0.45],
    ]);
  });

  test('of both kinds have reciprocal ranks, of several vectors the best one', () => {
    const vectors = [cosine({ a: 1, b: 0 }), cosine({ b: 1 })];
    expect(scoresOf({ vectors, lexical: hits({ c: 1, a: 0.5 }) }, rrf)).toEqual([
      ['a', 0.55 / 61 + 0.45 / 62],
      ['b', 0.55 / 61],
      ['c', 0.45 / 61],
    ]);
  });

  test('of words alone have the score of the words', () => {
    expect(scoresOf({ vectors: [], lexical: hits({ a: 0.5 }) })).toEqual([['a', 0.5]]);
  });
});

/** A second implementation: one record at a time. */
function naive({ vectors, lexical }: CollectionHits, options: HybridOptions): Map<string, number> {
  const all = new Set([...vectors.flatMap((each) => each.hits), ...(lexical ?? [])].map(({ id }) => id));
  const normal = (metric: Metric, s: number) => {
    if (metric === 'cosine') return Math.max(0, Math.min(1, (s + 1) / 2));
    if (metric === 'euclidean') return Math.max(0, Math.min(1, s));
    return s > 0 ? s / (1 + s) : 0;
  };
  return new Map(
    [...all].map((id) => {
      let top = 0;
      let weights = 0;
      let best = Number.POSITIVE_INFINITY;
      let raw = 0;
      for (const { weight, metric, hits: list } of vectors) {
        const at = list.findIndex((hit) => hit.id === id);
        weights += weight;
        if (at === -1) continue;
        raw = list[at]!.score;
        top += weight * normal(metric, raw);
        best = Math.min(best, at + 1);
      }
      const vector = weights === 0 ? 0 : top / weights;
      const at = (lexical ?? []).findIndex((hit) => hit.id === id);
      const words = at === -1 ? 0 : lexical![at]!.score;
      const { vectorWeight: vw, lexicalWeight: lw, rrfK } = options;
      if (lexical === null) return [id, vectors.length === 1 ? raw : vector];
      if (vectors.length === 0) return [id, words];
      if (options.fusion === 'weighted') return [id, (vw * vector + lw * words) / (vw + lw)];
      return [id, (best === Infinity ? 0 : vw / (rrfK + best)) + (at === -1 ? 0 : lw / (rrfK + at + 1))];
    }),
  );
}

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const list = fc
  .uniqueArray(fc.record({ id: ids, score: fc.float({ min: -1, max: 1, noNaN: true }) }), {
    selector: ({ id }) => id,
  })
  .map((all) => all.sort((x, y) => y.score - x.score));
const vector = fc.record({
  weight: fc.constantFrom(0.5, 1, 2),
  metric: fc.constantFrom<Metric>('cosine', 'dotProduct', 'euclidean'),
  hits: list,
});
const founds = fc
  .record({ vectors: fc.array(vector, { maxLength: 4 }), lexical: fc.option(list) })
  .filter(({ vectors, lexical }) => vectors.length > 0 || lexical !== null);

describe('records of one score', () => {
  const tied = (found: CollectionHits) => isInKeyOrder(finished(fuse(found, rrf)));
  test.each<[string, CollectionHits, boolean]>([
    ['that one vector finds alike', { vectors: [cosine({ a: 0.5, b: 0.5 })], lexical: null }, true],
    ['that the words find alike', { vectors: [], lexical: hits({ a: 0.5, b: 0.5 }) }, true],
    ['that the vector finds otherwise', { vectors: [cosine({ a: 0.5, b: 0.4 })], lexical: null }, false],
    [
      'of which a vector finds one',
      { vectors: [cosine({ a: 0.5 })], lexical: hits({ a: 0.5, b: 0.5 }) },
      false,
    ],
    ['that the words find otherwise', { vectors: [], lexical: hits({ a: 0.5, b: 0.4 }) }, false],
    [
      'of which the second vector finds one',
      { vectors: [cosine({}), cosine({ b: 1 })], lexical: hits({ a: 1 }) },
      false,
    ],
    ['that are none', { vectors: [cosine({})], lexical: null }, true],
  ])('%s are in the order of their keys: %s', (_, found, expected) => {
    expect(tied(found)).toBe(expected);
  });
});

describe('any results', () => {
  test('have the scores of a second implementation, and fall', () => {
    fc.assert(
      fc.property(founds, fc.constantFrom(weighted, rrf), (found, options) => {
        const known = naive(found, options);
        const fused = finished(fuse(found, options));
        expect(new Set(fused.map(({ id }) => id))).toEqual(new Set(known.keys()));
        for (const { id, score } of fused) expect(score).toBeCloseTo(known.get(id)!, 10);
        for (const [at, { score }] of fused.entries())
          expect(score).toBeLessThanOrEqual(fused[at - 1]?.score ?? Number.POSITIVE_INFINITY);
      }),
    );
  });

  test('are cut so that every record of a tie at the end is known', () => {
    fc.assert(
      fc.property(
        founds,
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom(null, 0.4),
        (found, most, minScore) => {
          const fused = finished(fuse(found, rrf));
          const high = fused.filter(({ score }) => minScore === null || score >= minScore);
          const { sure, tied, room } = cutAt(fused, most, minScore);
          expect(sure.length + room).toBe(Math.min(most, high.length));
          expect(high.slice(0, sure.length)).toEqual(sure);
          const last = high[most - 1]?.score;
          if (tied.length > 0) expect(tied).toEqual(high.filter(({ score }) => score === last));
          else expect(high[most]?.score).not.toBe(last ?? null);
          expect(tied.length === 0 || tied.length > room).toBe(true);
        },
      ),
    );
  });
});

test('80,000 hits are fused in a step for each 1,024, at the least', () => {
  const found = Array.from({ length: 5_000 }, (_, at) => ({ id: `${at}`, score: 1 - at / 5_000 }));
  const vectors = Array.from({ length: 16 }, () => ({ weight: 1, metric: 'cosine' as const, hits: found }));
  const steps = [...fuse({ vectors, lexical: null }, rrf)].length;
  // Those of each search but the rest, the scores, and the runs of the sort.
  expect(steps).toBeGreaterThan(16 * 4 + 4 + 9);
});
