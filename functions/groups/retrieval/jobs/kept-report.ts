import type { Jobs } from '../../../jobs/admit-job.ts';
import { valueOfOrdered } from '../../../jobs/ordered-content.ts';
import { resultsOf } from '../../../jobs/read-jobs.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import type { CaseResult } from '../../../retrieval/rules/evaluation/case-result.ts';
import type {
  ComparisonReport,
  EvaluationReport,
  RetrievalReport,
} from '../../../retrieval/rules/evaluation/report.ts';
import { readParts } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';

/** The checkpoint of a case; `variant` is `null` in an evaluation. */
export function caseKey(variant: number | null, index: number): string {
  return variant === null ? `case-${index}` : `case-${variant}-${index}`;
}

/** What a run has of a report that is too large for it: all but the cases, which are in so many checkpoints. */
interface KeptReport {
  readonly report: RetrievalReport;
  /** Cases of the evaluation, or of each variant. */
  readonly kept: readonly number[];
}

/** Cases of a report that are read at once. */
const READ_CASES = 20;

/** What the run holds: the report, or where that is large the report without its cases. */
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

/** The bytes of the report of the job as JSON; its last progress says them. */
export function reportBytesOf({ status, statusDetails }: Run): number {
  const bytes = status === 'succeeded' ? statusDetails?.['resultBytes'] : 0;
  return typeof bytes === 'number' ? bytes : 0;
}

/** The reports of the jobs in their order; `null` for a job that has none. `hold` counts the bytes before they are read. */
export async function retrievalReports(
  jobs: Jobs,
  runs: readonly Run[],
  hold: (bytes: number) => void = () => undefined,
): Promise<readonly (RetrievalReport | null)[]> {
  for (const run of runs) hold(reportBytesOf(run));
  const found = await resultsOf(jobs, runs);
  const whole: (RetrievalReport | null)[] = [];
  for (const [index, run] of runs.entries()) whole.push(await wholeReport(jobs, run, found[index] ?? null));
  return whole;
}

async function wholeReport(jobs: Jobs, { id }: Run, result: Json): Promise<RetrievalReport | null> {
  if (typeof result !== 'object' || result === null) return null;
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
