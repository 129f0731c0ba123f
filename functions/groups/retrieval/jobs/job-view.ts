import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { type JobView, jobView } from '../../../jobs/job-view.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import type {
  ComparisonReport,
  EvaluationReport,
  RetrievalReport,
} from '../../../retrieval/rules/evaluation/report.ts';
import type { Run } from '../../../runs/run.ts';
import { factsOf, type RetrievalJobFacts } from './job-facts.ts';
import { reportBytesOf, retrievalReports } from './kept-report.ts';

export interface RetrievalJobView extends Omit<JobView, 'attempted' | 'succeeded' | 'failed'> {
  readonly kind: RetrievalJobFacts['kind'];
  readonly casesAttempted: number;
  readonly casesSucceeded: number;
  readonly casesFailed: number;
  readonly currentCaseIndex: number | null;
  readonly currentCaseName: string | null;
  readonly variantsRequested: number;
  readonly variantsAttempted: number;
  readonly variantsSucceeded: number;
  readonly variantsFailed: number;
  readonly currentVariantId: string | null;
  readonly currentVariantIndex: number | null;
  readonly evaluationResult: EvaluationReport | null;
  readonly result: ComparisonReport | null;
}

/** The counters of a run count cases in an evaluation and variants in a comparison; the others are 0. */
export function retrievalJobView(
  run: Run,
  report: RetrievalReport | null = null,
  replayed = false,
): RetrievalJobView {
  const { attempted, succeeded, failed, ...common } = jobView(run, replayed);
  const { kind, cases, variants } = factsOf(run.tags);
  const isComparison = kind === 'comparison';
  const count = (value: number, ofComparison: boolean) => (isComparison === ofComparison ? value : 0);
  const current = run.status === 'running' ? (run.statusDetails ?? {}) : {};
  return {
    ...common,
    kind,
    requested: cases,
    casesAttempted: count(attempted, false),
    casesSucceeded: count(succeeded, false),
    casesFailed: count(failed, false),
    currentCaseIndex: numberOr(current['currentCaseIndex']),
    currentCaseName: textOr(current['currentCaseName']),
    variantsRequested: variants,
    variantsAttempted: count(attempted, true),
    variantsSucceeded: count(succeeded, true),
    variantsFailed: count(failed, true),
    currentVariantId: textOr(current['currentVariantId']),
    currentVariantIndex: numberOr(current['currentVariantIndex']),
    evaluationResult: report !== null && 'cases' in report ? report : null,
    result: report !== null && 'variants' in report ? report : null,
  };
}

/** A report has texts of records, so a caller who may only delete does not get it. */
export function retrievalJobViews({
  jobs,
}: Pick<JobFamily, 'jobs'>): JobViews<RetrievalJobView, RetrievalReport> {
  return {
    list: 'retrieval-evaluation-jobs',
    limitDefault: 20,
    cancels: 'delete',
    view: retrievalJobView,
    results: (runs, { hold }) => retrievalReports(jobs, runs, hold),
    sizeOf: reportBytesOf,
  };
}

function numberOr(value: Json | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

function textOr(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
