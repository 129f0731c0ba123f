import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobFamily, JobLayers } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import { type JobView, jobView, numberOrNull, textOrNull } from '../../../jobs/job-view.ts';
import type { ResultBytes } from '../../../jobs/kept-result.ts';
import { valueOfOrdered } from '../../../jobs/ordered-content.ts';
import { wholeResults } from '../../../jobs/read-jobs.ts';
import type { Json, JsonObject } from '../../../kernel/canonical-json.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RetrievalParts } from '../../../retrieval/parts.ts';
import type { CaseResult } from '../../../retrieval/rules/evaluation/case-result.ts';
import type {
  ComparisonReport,
  EvaluationReport,
  RetrievalReport,
} from '../../../retrieval/rules/evaluation/report.ts';
import { readParts } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';
import type { RerankAccess } from '../library/judge-rerankers.ts';

/** The layers of evaluations, with those of retrievals and the access rules of rerankers. */
export interface RetrievalLayers extends Omit<JobLayers, 'records'> {
  readonly patience: PatienceParts;
  readonly retrieval: RetrievalParts;
  readonly rerankAccess: RerankAccess;
}

/** Facts of the request. */
export interface RetrievalJobFacts {
  readonly kind: 'evaluation' | 'comparison';
  readonly cases: number;
  /** 0 in an evaluation. */
  readonly variants: number;
}

export const { tagsOf, factsOf } = jobFacts<RetrievalJobFacts>({
  kind: ['svc.retrieval.kind', 'evaluation'],
  cases: ['svc.retrieval.cases', 0],
  variants: ['svc.retrieval.variants', 0],
});

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

/** The view of a job. Its counters count cases in an evaluation and variants in a comparison; the others are 0. */
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
    currentCaseIndex: numberOrNull(current['currentCaseIndex']),
    currentCaseName: textOrNull(current['currentCaseName']),
    variantsRequested: variants,
    variantsAttempted: count(attempted, true),
    variantsSucceeded: count(succeeded, true),
    variantsFailed: count(failed, true),
    currentVariantId: textOrNull(current['currentVariantId']),
    currentVariantIndex: numberOrNull(current['currentVariantIndex']),
    evaluationResult: report !== null && 'cases' in report ? report : null,
    result: report !== null && 'variants' in report ? report : null,
  };
}

/** A report contains texts of records, so a caller that may only delete does not see it. */
export function retrievalJobViews({
  jobs,
}: Pick<JobFamily, 'jobs'>): JobViews<RetrievalJobView, RetrievalReport> {
  return {
    list: 'retrieval-evaluation-jobs',
    limitDefault: 20,
    cancels: 'delete',
    view: retrievalJobView,
    results: (runs, bytes) => retrievalReports(jobs, runs, bytes),
    sizeOf: reportBytesOf,
  };
}

/** The checkpoint of a case; `variant` is `null` in an evaluation. */
export function caseKey(variant: number | null, index: number): string {
  return variant === null ? `case-${index}` : `case-${variant}-${index}`;
}

/** The result of a run whose report is too large for it: the report without its cases, which are in checkpoints. */
interface KeptReport {
  readonly report: RetrievalReport;
  /** Number of cases of the evaluation, or of each variant. */
  readonly kept: readonly number[];
}

/** Cases of a report that are read at once. */
const READ_CASES = 20;

/** The result for the run: the report, without its cases if it is large. */
export function heldReport(report: RetrievalReport, bytes: number, bytesMax: number): Json {
  if (bytes <= bytesMax) return report as unknown as Json;
  const held: KeptReport =
    'variants' in report
      ? {
          report: { ...report, variants: report.variants.map((each) => ({ ...each, cases: [] })) },
          kept: report.variants.map(({ cases }) => cases.length),
        }
      : { report: { ...report, cases: [] }, kept: [report.cases.length] };
  return held as unknown as Json;
}

/** The size of the job's report as JSON in bytes, from its last progress report. */
function reportBytesOf({ status, statusDetails }: Run): number {
  const bytes = status === 'succeeded' ? statusDetails?.['resultBytes'] : 0;
  return typeof bytes === 'number' ? bytes : 0;
}

/**
 * The reports of the jobs in their order; `null` for a job without a report.
 * @testonly
 */
export function retrievalReports(jobs: Jobs, runs: readonly Run[], bytes?: ResultBytes) {
  const wholeOf = (run: Run, result: JsonObject) => wholeReport(jobs, run, result);
  return wholeResults<RetrievalReport>(jobs, runs, { sizeOf: reportBytesOf, wholeOf }, bytes);
}

async function wholeReport(jobs: Jobs, { id }: Run, result: JsonObject): Promise<RetrievalReport> {
  if (!('kept' in result)) return result as unknown as RetrievalReport;
  const { report, kept } = result as unknown as KeptReport;
  if (!('variants' in report)) return { ...report, cases: await keptCases(jobs, id, null, kept[0] ?? 0) };
  const variants: ComparisonReport['variants'][number][] = [];
  for (const [at, variant] of report.variants.entries())
    variants.push({ ...variant, cases: await keptCases(jobs, id, at, kept[at] ?? 0) });
  return { ...report, variants };
}

async function keptCases(
  jobs: Jobs,
  runId: string,
  variant: number | null,
  count: number,
): Promise<EvaluationReport['cases']> {
  const keys = Array.from({ length: count }, (_, index) => caseKey(variant, index));
  const cases: CaseResult[] = [];
  for (let at = 0; at < count; at += READ_CASES)
    for (const kept of await readParts(jobs.runtime, runId, keys.slice(at, at + READ_CASES)))
      cases.push(valueOfOrdered<CaseResult>(kept));
  return cases;
}
