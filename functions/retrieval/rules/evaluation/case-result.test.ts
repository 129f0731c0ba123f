import { describe, expect, test } from 'vitest';
import { finish } from '../../../../test/support/finish.ts';
import { failedCase, overlapOf, succeededCase } from './case-result.ts';
import { answered, asked } from './evaluation.fixture.ts';

describe('a case', () => {
  test('has the metrics of its first k results', () => {
    const answer = answered(['a', 'b', 'c', 'd', 'e'], 4);
    const result = finish(succeededCase(3, asked(['b', 'd', 'x'], ['a', 'e']), answer));
    expect(result).toMatchObject({
      index: 3,
      name: 'case',
      query: 'q',
      status: 'succeeded',
      error: null,
      k: 4,
      expectedCount: 3,
      retrievedCount: 4,
      matchedCount: 2,
      hit: true,
      firstRelevantRank: 2,
      reciprocalRank: 0.5,
      precisionAtK: 0.5,
      recallAtK: 2 / 3,
      hardNegativeCount: 2,
      hardNegativeMatchedCount: 1,
      hardNegativeHit: true,
      firstHardNegativeRank: 1,
      hardNegativeRateAtK: 0.25,
    });
    expect(result['expected']).toMatchObject([
      { id: 'b', relevance: 1, rank: 2, score: 0.99 },
      { id: 'd', rank: 4 },
      { id: 'x', rank: null, score: null },
    ]);
    expect(result['topResults']).toMatchObject([
      { rank: 1, id: 'a', matchedExpected: false, matchedHardNegative: true, snippet: 'text of a' },
      { rank: 2, id: 'b', matchedExpected: true, matchedHardNegative: false },
      { rank: 3, id: 'c' },
      { rank: 4, id: 'd' },
    ]);
  });

  test('shows no results if the request excludes them', () => {
    const answer = answered(['a'], 1, { includeTopResults: false });
    expect(finish(succeededCase(0, asked(['a']), answer))['topResults']).toEqual([]);
  });

  test('that failed has no results', () => {
    const failed = failedCase(0, asked(['a'], ['b']), { k: 10, durationMs: 2, error: 'no collection' });
    expect(failed).toMatchObject({
      status: 'failed',
      error: 'no collection',
      hit: false,
      ndcgAtK: 0,
      retrievedCount: 0,
      hardNegativeCount: 1,
      topResults: [],
    });
  });

  test('is invalid if a hard negative is expected', () => {
    expect(finish(overlapOf(asked(['a', 'b'], ['c', 'b'])))).toBe(1);
    expect(finish(overlapOf(asked(['a', 'b'], ['c'])))).toBeNull();
    expect(finish(overlapOf(asked(['a'])))).toBeNull();
  });
});
