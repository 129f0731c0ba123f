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

/** What keeps the cases that were tried, so that a job goes on behind them. A call without a job keeps nothing. */
export interface CaseLog {
  /** The kept result of a case; `variant` is its index, `null` in an evaluation. */
  readonly read: (variant: number | null, index: number) => Promise<CaseResult | null>;
  readonly keep: (variant: number | null, result: CaseResult) => Promise<void>;
  /** Called before each case that is tried. */
  readonly begin?: (variant: number | null, index: number) => Promise<void>;
}

const nothingKept: CaseLog = { read: () => Promise.resolve(null), keep: () => Promise.resolve() };

/** Tries the cases in their order. The same results come out however often the work was interrupted behind a kept case. */
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

/** Tries all cases in the way of each variant. */
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
  // The records of a case are gone before the next one: only what exceeds all cases before counts.
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
    // A case is long work: one starts in a turn, of all jobs.
    await turns.next();
  }
  return tried;
}
