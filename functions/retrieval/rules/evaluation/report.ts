import type { CaseResult } from './case-result.ts';
import type { Comparison, Evaluation, VariantRequest } from './request.ts';

/** Means over the successful cases, 0 without any; the metrics of hard negatives are means over the cases that have some. */
interface EvaluationMetrics {
  readonly requested: number;
  readonly attempted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly stoppedOnError: boolean;
  readonly hitCount: number;
  readonly hitRate: number;
  readonly meanReciprocalRank: number;
  readonly meanPrecisionAtK: number;
  readonly meanRecallAtK: number;
  readonly meanNdcgAtK: number;
  readonly hardNegativeCaseCount: number;
  readonly hardNegativeHitCount: number;
  readonly hardNegativeHitRate: number;
  readonly meanHardNegativeRateAtK: number;
  readonly rerankCaseCount: number;
  readonly rerankFallbackCaseCount: number;
  readonly rerankFallbackRate: number;
}

export interface EvaluationReport extends EvaluationMetrics {
  readonly cases: readonly CaseResult[];
}

type MetricDeltas = Readonly<Record<(typeof comparedMetrics)[number], number>>;

interface VariantResult {
  readonly id: string;
  readonly label: string | null;
  readonly status: 'succeeded' | 'failed';
  readonly error: string | null;
  readonly durationMs: number;
  readonly metrics: EvaluationMetrics;
  /** `null` for the first variant, and if the first or this variant failed. */
  readonly deltaFromBaseline: MetricDeltas | null;
  readonly cases: readonly CaseResult[];
}

export interface ComparisonReport {
  readonly requested: number;
  readonly variantsRequested: number;
  readonly variantsAttempted: number;
  readonly variantsSucceeded: number;
  readonly variantsFailed: number;
  readonly stoppedOnError: boolean;
  readonly baselineVariantId: string | null;
  readonly variants: readonly VariantResult[];
}

const comparedMetrics = [
  'hitRate',
  'meanReciprocalRank',
  'meanPrecisionAtK',
  'meanRecallAtK',
  'meanNdcgAtK',
  'hardNegativeHitRate',
  'meanHardNegativeRateAtK',
  'rerankFallbackRate',
] as const;

/** Whether the remaining cases are skipped: the last case failed, and the request stops at failures. */
export function stops(cases: readonly CaseResult[], continueOnError: boolean): boolean {
  return !continueOnError && cases.at(-1)?.status === 'failed';
}

/**
 * The metrics of the cases that ran. The same cases give the same metrics in any order.
 * @testonly
 */
export function evaluationMetrics(
  cases: readonly CaseResult[],
  { cases: asked, continueOnError }: Evaluation,
): EvaluationMetrics {
  const good = cases.filter(({ status }) => status === 'succeeded');
  const negative = good.filter(({ hardNegativeCount }) => hardNegativeCount > 0);
  const reranked = good.filter(({ rerankEnabled }) => rerankEnabled);
  const hits = good.filter(({ hit }) => hit).length;
  const negativeHits = negative.filter(({ hardNegativeHit }) => hardNegativeHit).length;
  const fallbacks = reranked.filter(({ rerankFallbackApplied }) => rerankFallbackApplied).length;
  return {
    requested: asked.length,
    attempted: cases.length,
    succeeded: good.length,
    failed: cases.length - good.length,
    stoppedOnError: stops(cases, continueOnError) && cases.length < asked.length,
    hitCount: hits,
    hitRate: share(hits, good.length),
    meanReciprocalRank: mean(good, ({ reciprocalRank }) => reciprocalRank),
    meanPrecisionAtK: mean(good, ({ precisionAtK }) => precisionAtK),
    meanRecallAtK: mean(good, ({ recallAtK }) => recallAtK),
    meanNdcgAtK: mean(good, ({ ndcgAtK }) => ndcgAtK),
    hardNegativeCaseCount: negative.length,
    hardNegativeHitCount: negativeHits,
    hardNegativeHitRate: share(negativeHits, negative.length),
    meanHardNegativeRateAtK: mean(negative, ({ hardNegativeRateAtK }) => hardNegativeRateAtK),
    rerankCaseCount: reranked.length,
    rerankFallbackCaseCount: fallbacks,
    rerankFallbackRate: share(fallbacks, reranked.length),
  };
}

export function evaluationReport(cases: readonly CaseResult[], evaluation: Evaluation): EvaluationReport {
  return { ...evaluationMetrics(cases, evaluation), cases };
}

export type RetrievalReport = EvaluationReport | ComparisonReport;

/** A variant with the cases that ran. It failed if it stopped early or no case succeeded. */
export interface TriedVariant {
  readonly variant: VariantRequest;
  readonly durationMs: number;
  readonly cases: readonly CaseResult[];
}

export function hasFailed({ cases }: TriedVariant, { continueOnError }: Evaluation): boolean {
  return stops(cases, continueOnError) || cases.every(({ status }) => status === 'failed');
}

/** The report of the variants that ran. The first one is the baseline of the others. */
export function comparisonReport(tried: readonly TriedVariant[], comparison: Comparison): ComparisonReport {
  const results: VariantResult[] = [];
  for (const each of tried) results.push(variantResult(each, comparison, results[0] ?? null));
  const failed = results.filter(({ status }) => status === 'failed').length;
  const isFailed = !comparison.continueOnError && results.at(-1)?.status === 'failed';
  const isWhole =
    tried.length === comparison.variants.length && tried.at(-1)?.cases.length === comparison.cases.length;
  return {
    requested: comparison.cases.length,
    variantsRequested: comparison.variants.length,
    variantsAttempted: results.length,
    variantsSucceeded: results.length - failed,
    variantsFailed: failed,
    // A failure of the very last case skips no case.
    stoppedOnError: isFailed && !isWhole,
    baselineVariantId: comparison.variants[0]?.id ?? null,
    variants: results,
  };
}

/** A failed variant has no metrics: all are 0. */
function variantResult(
  each: TriedVariant,
  comparison: Comparison,
  baseline: VariantResult | null,
): VariantResult {
  const { variant, durationMs, cases } = each;
  const isFailed = hasFailed(each, comparison);
  const metrics = evaluationMetrics(isFailed ? [] : cases, comparison);
  const first = cases.find(({ status }) => status === 'failed');
  const hasBaseline = baseline !== null && baseline.status === 'succeeded' && !isFailed;
  return {
    id: variant.id,
    label: variant.label ?? null,
    status: isFailed ? 'failed' : 'succeeded',
    error: isFailed ? (first?.error ?? null) : null,
    durationMs,
    metrics: isFailed ? { ...metrics, requested: 0 } : metrics,
    deltaFromBaseline: hasBaseline ? deltas(metrics, baseline.metrics) : null,
    cases: comparison.includeCaseResults ? cases : [],
  };
}

function deltas(metrics: EvaluationMetrics, baseline: EvaluationMetrics): MetricDeltas {
  return Object.fromEntries(
    comparedMetrics.map((name) => [name, metrics[name] - baseline[name]]),
  ) as MetricDeltas;
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function mean<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return share(
    items.reduce((sum, item) => sum + value(item), 0),
    items.length,
  );
}
