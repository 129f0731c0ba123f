import type { JobContext } from '../../../jobs/job-plugin.ts';
import { orderedContent, valueOfOrdered } from '../../../jobs/ordered-content.ts';
import { requestOf, stagedIn, withStaged } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { ProviderFailure } from '../../../providers/failure.ts';
import { ProviderPatience } from '../../../providers/patience.ts';
import { isWaitedFor } from '../../../providers/rules/patience.ts';
import { passesBy } from '../../../retrieval/evaluation/case-fault.ts';
import { runComparison, runEvaluation } from '../../../retrieval/evaluation/run-evaluation.ts';
import type { RetrievalReport } from '../../../retrieval/rules/evaluation/report.ts';
import {
  type ComparisonRequest,
  type Evaluation,
  type EvaluationRequest,
  readComparison,
  readEvaluation,
} from '../../../retrieval/rules/evaluation/request.ts';
import { judgeRerankers, retrievalsOf } from '../library/judge-rerankers.ts';
import { CaseCheckpoints } from './case-checkpoints.ts';
import { factsOf, heldReport, type RetrievalLayers } from './job-view.ts';

/** The most bytes that a job holds: its report, and the records of its largest case. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;

/** Checkpoint with the result of a staged job, written before the payload is removed and the run ends. */
const HELD = 'held-report';

const TURN = 'next-turn';
const TURN_MS = 60_000;
const WAIT_MIN_MS = 1_000;
/** The most executions of a job that its store or provider refuses for a while, beside one for each stored case. */
const TURNS_MAX = 100;

/** Executes a job from the first case that earlier executions have not stored. */
export function runRetrievalJob(parts: RetrievalLayers, context: JobContext): Promise<Json> {
  const isStaged = stagedIn(context.payload).staged !== undefined;
  const work = async () => {
    const earlier = isStaged && context.attempt > 1 ? await context.readCheckpoint(HELD) : null;
    if (earlier !== null) return valueOfOrdered<Json>(earlier.content);
    const held = await evaluateInTurns(parts, context);
    if (isStaged) await context.writeCheckpoint(HELD, orderedContent(held));
    return held;
  };
  return withStaged(parts.payloads, context, { work, failure: ProviderFailure });
}

/** If the work is refused for a while, or a provider fails, the job waits without a worker and continues later. */
async function evaluateInTurns(parts: RetrievalLayers, context: JobContext): Promise<Json> {
  const patience = new ProviderPatience(parts.patience, context);
  const progress: Progress = { log: null, moved: () => patience.answered() };
  for (;;) {
    try {
      return await evaluate(parts, context, progress);
    } catch (error) {
      if (context.signal.aborted || !passesBy(error)) throw error;
      if (error instanceof ProviderFailure && isWaitedFor(error)) {
        if (await patience.waitAfter(error)) continue;
        throw error;
      }
      const turnsMax = TURNS_MAX + (progress.log?.kept ?? 0) + (await patience.waits());
      if (context.attempt >= turnsMax) throw error;
      const { clock } = parts.retrieval.records.world;
      await context.waitForTimer(TURN, new Date(clock.now() + waitOf(error)));
    }
  }
}

interface Progress {
  log: CaseCheckpoints | null;
  readonly moved: () => Promise<void>;
}

/** The wait is never zero: otherwise the job would continue in the same execution without an end. */
function waitOf(error: unknown): number {
  return Math.max(WAIT_MIN_MS, askedWait(error) ?? TURN_MS);
}

function askedWait(error: unknown): number | null {
  if (error instanceof ProviderFailure) return error.retryAfterMs;
  const seconds = error instanceof ServiceError ? error.extensions.retryAfterSeconds : undefined;
  return seconds === undefined ? null : seconds * 1_000;
}

async function evaluate(parts: RetrievalLayers, context: JobContext, progress: Progress): Promise<Json> {
  const { signal, correlationId, job } = context;
  const request = (await requestOf(parts.payloads, context.payload)) as unknown as
    | EvaluationRequest
    | ComparisonRequest;
  // The caller may have lost the right since the admission.
  judgeRerankers(parts.rerankAccess, job, retrievalsOf(request));
  const call = { signal, correlationId, grow: heldBytes() };
  const isComparison = factsOf(context.tags).kind === 'comparison';
  const finish = async (log: CaseCheckpoints, report: RetrievalReport) => {
    const bytes = Buffer.byteLength(JSON.stringify(report));
    await log.end(report, bytes);
    return heldReport(report, bytes, parts.resultBytesMax);
  };
  const logOf = (evaluation: Evaluation) => {
    const { clock } = parts.retrieval.records.world;
    progress.log = new CaseCheckpoints(context, evaluation, { clock, moved: progress.moved });
    return progress.log;
  };
  if (isComparison) {
    const comparison = readComparison(request as ComparisonRequest);
    const log = logOf(comparison);
    return finish(log, await runComparison(parts.retrieval, job.space, comparison, call, log));
  }
  const evaluation = readEvaluation(request);
  const log = logOf(evaluation);
  return finish(log, await runEvaluation(parts.retrieval, job.space, evaluation, call, log));
}

/** Counts the same bytes that a call without a job counts to its process. */
function heldBytes(): (bytes: number) => void {
  let held = 0;
  return (bytes) => {
    held += bytes;
    if (held <= HELD_BYTES_MAX) return;
    const detail = `A job that evaluates holds at most ${HELD_BYTES_MAX} bytes of records and results at a time.`;
    throw new ServiceError('limit_exceeded', detail);
  };
}
