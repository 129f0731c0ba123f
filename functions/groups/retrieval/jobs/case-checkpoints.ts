import type { JobContext } from '../../../jobs/job-plugin.ts';
import { orderedContent, valueOfOrdered } from '../../../jobs/ordered-content.ts';
import type { JsonObject } from '../../../kernel/canonical-json.ts';
import type { Clock } from '../../../kernel/world.ts';
import type { CaseLog } from '../../../retrieval/evaluation/run-evaluation.ts';
import type { CaseResult } from '../../../retrieval/rules/evaluation/case-result.ts';
import { hasFailed, type RetrievalReport } from '../../../retrieval/rules/evaluation/report.ts';
import type { Comparison, Evaluation } from '../../../retrieval/rules/evaluation/request.ts';
import { REPORT_MS } from '../../../runs/plugin.ts';
import { caseKey } from './job-view.ts';

const STEP_LENGTH_MAX = 200;

/** Stores each case in a checkpoint of its own, and reports the progress of the job. */
export class CaseCheckpoints implements CaseLog {
  readonly #context: JobContext;
  readonly #clock: Clock;
  readonly #evaluation: Evaluation | Comparison;
  readonly #counts: CaseCounts;
  readonly #moved: () => Promise<void>;
  /** Whether the job has read all stored cases of earlier executions. After the first missing case no later one is stored. */
  #isBehind: boolean;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** `moved` is awaited after each case that this execution stores. */
  constructor(
    context: JobContext,
    evaluation: Evaluation | Comparison,
    { clock, moved }: { readonly clock: Clock; readonly moved: () => Promise<void> },
  ) {
    this.#context = context;
    this.#clock = clock;
    this.#moved = moved;
    this.#evaluation = evaluation;
    this.#counts = new CaseCounts(evaluation);
    this.#isBehind = context.attempt === 1;
  }

  /** Stored cases of this execution, and of earlier ones as far as this one has read them. */
  get kept(): number {
    return this.#counts.tried;
  }

  async read(variant: number | null, index: number): Promise<CaseResult | null> {
    if (this.#isBehind) return null;
    const kept = await this.#context.readCheckpoint(caseKey(variant, index));
    this.#isBehind = kept === null;
    if (kept === null) return null;
    const result = valueOfOrdered<CaseResult>(kept.content);
    this.#counts.add(result);
    return result;
  }

  async begin(variant: number | null, index: number): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    const name = this.#evaluation.cases[index]?.name ?? null;
    const id = variant === null ? null : (variantsOf(this.#evaluation)[variant]?.id ?? null);
    await this.#context.report({
      ...this.#counts.shown(),
      currentStep: (id ?? name ?? caseKey(variant, index)).slice(0, STEP_LENGTH_MAX),
      statusDetails: {
        currentCaseIndex: index,
        currentCaseName: name,
        currentVariantIndex: variant,
        currentVariantId: id,
      },
    });
  }

  async keep(variant: number | null, result: CaseResult): Promise<void> {
    await this.#context.writeCheckpoint(caseKey(variant, result.index), orderedContent(result));
    this.#counts.add(result);
    await this.#moved();
  }

  /** Makes the last progress report of the job, with the counts and the size of its result. */
  async end(report: RetrievalReport, resultBytes: number): Promise<void> {
    const statusDetails: JsonObject = { resultBytes };
    await this.#context.report({ ...countsOf(report), progress: 1, currentStep: null, statusDetails });
  }
}

function countsOf(report: RetrievalReport) {
  if (!('variants' in report)) {
    const { requested, attempted, succeeded, failed } = report;
    return { requested, attempted, succeeded, failed };
  }
  return {
    requested: report.variantsRequested,
    attempted: report.variantsAttempted,
    succeeded: report.variantsSucceeded,
    failed: report.variantsFailed,
  };
}

function variantsOf(evaluation: Evaluation | Comparison): Comparison['variants'] {
  return 'variants' in evaluation ? evaluation.variants : [];
}

/** The counters of a job: cases of an evaluation, or finished variants of a comparison. */
class CaseCounts {
  readonly #evaluation: Evaluation | Comparison;
  #cases: CaseResult[] = [];
  #tried = 0;
  #succeeded = 0;
  #failed = 0;

  constructor(evaluation: Evaluation | Comparison) {
    this.#evaluation = evaluation;
  }

  get tried(): number {
    return this.#tried;
  }

  add(result: CaseResult): void {
    this.#tried += 1;
    const [variant] = variantsOf(this.#evaluation);
    if (variant === undefined) {
      this.#count(result.status === 'failed');
      return;
    }
    this.#cases.push(result);
    if (this.#cases.length < this.#evaluation.cases.length) return;
    this.#count(hasFailed({ variant, durationMs: 0, cases: this.#cases }, this.#evaluation));
    this.#cases = [];
  }

  #count(isFailed: boolean): void {
    if (isFailed) this.#failed += 1;
    else this.#succeeded += 1;
  }

  shown() {
    const variants = variantsOf(this.#evaluation).length;
    const cases = this.#evaluation.cases.length;
    return {
      requested: variants === 0 ? cases : variants,
      attempted: this.#succeeded + this.#failed,
      succeeded: this.#succeeded,
      failed: this.#failed,
      progress: this.#tried / (cases * Math.max(1, variants)),
    };
  }
}
