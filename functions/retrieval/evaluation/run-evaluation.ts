import { attemptsOf } from '../../collections/read-call.ts';
import type { RetrievalParts } from '../parts.ts';
import type { CaseResult } from '../rules/evaluation/case-result.ts';
import {
  type ComparisonReport,
  comparisonReport,
  type EvaluationReport,
  evaluationReport,
  hasFailed,
  stops,
  type TriedVariant,
} from '../rules/evaluation/report.ts';
import type { Comparison, Evaluation, VariantRequest } from '../rules/evaluation/request.ts';
import { type CaseCall, runCase } from './run-case.ts';

/** Stores the results of cases, so that a job continues after them. A call without a job stores nothing. */
export interface CaseLog {
  /** The stored result of a case; `variant` is its index, `null` in an evaluation. */
  readonly read: (variant: number | null, index: number) => Promise<CaseResult | null>;
  readonly keep: (variant: number | null, result: CaseResult) => Promise<void>;
  /** Called before each case. */
  readonly begin?: (variant: number | null, index: number) => Promise<void>;
}

const nothingKept: CaseLog = { read: () => Promise.resolve(null), keep: () => Promise.resolve() };

/** Runs the cases in their order. Interruptions after a stored case do not change the results. */
export async function runEvaluation(
  parts: RetrievalParts,
  space: string,
  evaluation: Evaluation,
  call: CaseCall,
  log: CaseLog = nothingKept,
): Promise<EvaluationReport> {
  const cases = await tryCases({ parts, space, evaluation, call, log }, null, null);
  return evaluationReport(cases, evaluation);
}

/** Runs all cases with each variant. */
export async function runComparison(
  parts: RetrievalParts,
  space: string,
  comparison: Comparison,
  call: CaseCall,
  log: CaseLog = nothingKept,
): Promise<ComparisonReport> {
  const tried: TriedVariant[] = [];
  for (const [at, variant] of comparison.variants.entries()) {
    const cases = await tryCases({ parts, space, evaluation: comparison, call, log }, variant, at);
    const durationMs = cases.reduce((sum, each) => sum + each.durationMs, 0);
    const last = { variant, durationMs, cases };
    tried.push(last);
    if (!comparison.continueOnError && hasFailed(last, comparison)) break;
  }
  return comparisonReport(tried, comparison);
}

interface Work {
  readonly parts: RetrievalParts;
  readonly space: string;
  readonly evaluation: Evaluation;
  readonly call: CaseCall;
  readonly log: CaseLog;
}

async function tryCases(
  { parts, space, evaluation, call, log }: Work,
  variant: VariantRequest | null,
  at: number | null,
): Promise<readonly CaseResult[]> {
  const tried: CaseResult[] = [];
  const turns = parts.records.world.turns.of(space, call.signal);
  // The records of a case are released before the next one, so only bytes beyond the largest earlier case count.
  const attempt = attemptsOf(call);
  for (let index = 0; index < evaluation.cases.length; index += 1) {
    const kept = await log.read(at, index);
    if (kept === null) {
      call.signal.throwIfAborted();
      await log.begin?.(at, index);
    }
    const own = { ...call, grow: attempt().add };
    const result = kept ?? (await runCase(parts, space, { evaluation, index, variant }, own));
    call.grow?.(Buffer.byteLength(JSON.stringify(result)));
    if (kept === null) await log.keep(at, result);
    tried.push(result);
    if (stops(tried, evaluation.continueOnError)) break;
    // A case is long work: in each turn one case of all jobs starts.
    await turns.next();
  }
  return tried;
}
