import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../../../test/support/finish.ts';
import { rerankMembers } from '../trace.ts';
import { failedCase, succeededCase } from './case-result.ts';
import { answered, asked } from './evaluation.fixture.ts';
import { comparisonReport, evaluationMetrics, evaluationReport, stops, type TriedVariant } from './report.ts';
import { readComparison, readEvaluation } from './request.ts';

const rerank = { rerankEnabled: true, rerank: { ...rerankMembers(null), rerankFallbackApplied: true } };
const right = finish(succeededCase(0, asked(['a'], ['z']), answered(['a', 'b'], 2)));
const half = finish(succeededCase(1, asked(['a', 'b'], ['c']), answered(['c', 'b'], 2, rerank)));
const wrong = finish(succeededCase(2, asked(['x']), answered(['a'], 2)));
const failed = failedCase(3, asked(['a'], ['q']), { k: 2, durationMs: 1, error: 'no collection' });
const four = readEvaluation({ cases: [asked(['a']), asked(['a']), asked(['a']), asked(['a'])] });

describe('the metrics of an evaluation', () => {
  test('are means over the cases that succeeded', () => {
    const metrics = evaluationMetrics([right, half, wrong, failed], four);
    expect(metrics).toMatchObject({
      requested: 4,
      attempted: 4,
      succeeded: 3,
      failed: 1,
      stoppedOnError: false,
    });
    expect(metrics).toMatchObject({ hitCount: 2, hitRate: 2 / 3, meanReciprocalRank: 0.5 });
    expect(metrics.meanPrecisionAtK).toBeCloseTo((0.5 + 0.5 + 0) / 3, 15);
    expect(metrics.meanRecallAtK).toBeCloseTo(0.5, 15);
  });

  test('of hard negatives are means over the cases that have some', () => {
    expect(evaluationMetrics([right, half, wrong, failed], four)).toMatchObject({
      hardNegativeCaseCount: 2,
      hardNegativeHitCount: 1,
      hardNegativeHitRate: 0.5,
      meanHardNegativeRateAtK: 0.25,
    });
  });

  test('of reranking count the cases that fell back', () => {
    expect(evaluationMetrics([right, half], four)).toMatchObject({
      rerankCaseCount: 1,
      rerankFallbackCaseCount: 1,
      rerankFallbackRate: 1,
    });
  });

  test('are 0 if no case succeeded', () => {
    const none = evaluationMetrics([failed], four);
    for (const name of ['hitRate', 'meanNdcgAtK', 'hardNegativeHitRate', 'rerankFallbackRate'] as const)
      expect(none[name]).toBe(0);
  });

  test('report that a failure ended it', () => {
    const strict = { ...four, continueOnError: false };
    expect(evaluationReport([right, failed], strict)).toMatchObject({ attempted: 2, stoppedOnError: true });
    const last = evaluationReport([right, right, right, failed], strict);
    expect(last).toMatchObject({ failed: 1, stoppedOnError: false });
    expect(stops([failed, right], false)).toBe(false);
    expect(stops([failed], true)).toBe(false);
  });
});

const twoCases = { cases: [asked(['a']), asked(['b'])] };
const variants = [{ id: 'base' }, { id: 'other', label: 'Other' }, { id: 'third' }];
const tried = (at: number, cases: TriedVariant['cases']): TriedVariant => ({
  variant: variants[at]!,
  durationMs: 7,
  cases,
});

describe('a comparison', () => {
  const comparison = readComparison({ ...twoCases, variants });

  test('compares each variant with the first', () => {
    const report = comparisonReport([tried(0, [right, wrong]), tried(1, [right, right])], comparison);
    expect(report).toMatchObject({
      requested: 2,
      variantsRequested: 3,
      variantsAttempted: 2,
      variantsSucceeded: 2,
      variantsFailed: 0,
      stoppedOnError: false,
      baselineVariantId: 'base',
    });
    expect(report.variants[0]?.deltaFromBaseline).toBeNull();
    expect(report.variants[1]).toMatchObject({ id: 'other', label: 'Other', cases: [] });
    expect(report.variants[1]?.deltaFromBaseline).toEqual({
      hitRate: 0.5,
      meanReciprocalRank: 0.5,
      meanPrecisionAtK: 0.25,
      meanRecallAtK: 0.5,
      meanNdcgAtK: 0.5,
      hardNegativeHitRate: 0,
      meanHardNegativeRateAtK: 0,
      rerankFallbackRate: 0,
    });
  });

  test('gives a failed variant no metrics', () => {
    const report = comparisonReport([tried(0, [right]), tried(1, [failed, failed])], comparison);
    expect(report).toMatchObject({ variantsSucceeded: 1, variantsFailed: 1 });
    expect(report.variants[1]).toMatchObject({
      status: 'failed',
      error: 'no collection',
      deltaFromBaseline: null,
    });
    expect(Object.values(report.variants[1]!.metrics).every((value) => value === 0 || value === false)).toBe(
      true,
    );
  });

  test('has no deltas if the baseline failed', () => {
    const report = comparisonReport([tried(0, [failed]), tried(1, [right])], comparison);
    expect(report.variants.map(({ deltaFromBaseline }) => deltaFromBaseline)).toEqual([null, null]);
  });

  test('reports that a failure ended it only if cases were left', () => {
    const strict = { ...comparison, continueOnError: false };
    const stopped = (...all: TriedVariant['cases'][]) =>
      comparisonReport(
        all.map((cases, at) => tried(at, cases)),
        strict,
      ).stoppedOnError;
    const good = [right, right];
    expect(stopped(good, [right, failed])).toBe(true);
    expect(stopped(good, good, [failed])).toBe(true);
    expect(stopped(good, good, [right, failed])).toBe(false);
    expect(stopped(good, good, good)).toBe(false);
  });

  test('shows its cases if the request includes them', () => {
    const shown = readComparison({ ...twoCases, variants, includeCaseResults: true });
    expect(comparisonReport([tried(0, [right])], shown).variants[0]?.cases).toEqual([right]);
  });

  test('is the same after its cases went through JSON', () => {
    const some = fc.array(fc.constantFrom(right, half, wrong, failed), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, some, (one, two) => {
        const report = (all: readonly TriedVariant[]) => comparisonReport(all, comparison);
        const kept = (cases: TriedVariant['cases']) => JSON.parse(JSON.stringify(cases)) as typeof cases;
        expect(JSON.stringify(report([tried(0, kept(one)), tried(1, kept(two))]))).toBe(
          JSON.stringify(report([tried(0, one), tried(1, two)])),
        );
      }),
    );
  });
});
