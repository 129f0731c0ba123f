import { limits } from '../../../contracts/generated/limits.ts';
import type { ReadCall } from '../../collections/read-call.ts';
import { refusalWords, ServiceError } from '../../kernel/errors.ts';
import { elapsedMs } from '../../kernel/timestamp.ts';
import { inTurns } from '../../kernel/turns.ts';
import { type RetrievalParts, scoredCandidatesMax } from '../parts.ts';
import { type RetrievalAnswer, retrieve } from '../retrieve.ts';
import { type CaseResult, failedCase, overlapOf, succeededCase } from '../rules/evaluation/case-result.ts';
import { judgedRecord } from '../rules/evaluation/matching.ts';
import { type Evaluation, type VariantRequest, withVariant } from '../rules/evaluation/request.ts';
import { type Retrieval, readRetrieval } from '../rules/request.ts';
import { rerankMembers } from '../rules/trace.ts';
import { isCaseFault } from './case-fault.ts';

export interface CaseCall extends ReadCall {
  readonly signal: AbortSignal;
  readonly correlationId?: string;
}

/**
 * Runs one case. A refusal of its retrieval, such as of an absent collection, is the result of the case. Transient failures are
 * thrown, as are failures of the store and the abort of the call.
 */
export async function runCase(
  parts: RetrievalParts,
  space: string,
  {
    evaluation,
    index,
    variant,
  }: { readonly evaluation: Evaluation; readonly index: number; readonly variant: VariantRequest | null },
  call: CaseCall,
): Promise<CaseResult> {
  const { clock, turns: worldTurns } = parts.records.world;
  const startedAt = clock.now();
  // A case may compare thousands of sources.
  const turns = worldTurns.of(space, call.signal);
  const asked = evaluation.cases[index]!;
  let k = asked.k ?? evaluation.defaultK ?? limits.retrievalLimitDefault;
  try {
    refuseOverlap(await inTurns(overlapOf(asked), turns));
    const request = variant === null ? asked.request : withVariant(asked.request, variant);
    const read = readRetrieval(request, scoredCandidatesMax(parts));
    k = asked.k ?? evaluation.defaultK ?? Math.min(read.limit, limits.evaluationResultsMax);
    const retrieval = { ...read, limit: Math.max(read.limit, k) };
    // The report replaces the traces of the retrievals. If the reranker is overloaded, the case is not judged by results in
    // their order before reranking.
    const own = { ...call, storesTrace: false, throwsPassing: true };
    const answer = await retrieve(parts, space, retrieval, own);
    const durationMs = elapsedMs(startedAt, clock.now());
    const judged = judgedAnswer(answer, { k, durationMs, retrieval, evaluation });
    const result = await inTurns(succeededCase(index, asked, judged), turns);
    refuseLarge(result);
    return result;
  } catch (error) {
    call.signal.throwIfAborted();
    const durationMs = elapsedMs(startedAt, clock.now());
    return failedCase(index, asked, { k, durationMs, error: wordsOf(error) });
  }
}

/** Bytes of the result of a case, so that a checkpoint of a job has room for it. */
const RESULT_BYTES_MAX = 900_000;

function refuseLarge(result: CaseResult): void {
  if (Buffer.byteLength(JSON.stringify(result)) <= RESULT_BYTES_MAX) return;
  const detail = `The result of the case has more than ${RESULT_BYTES_MAX} bytes: ask for fewer, or without includeTopResults.`;
  throw new ServiceError('limit_exceeded', detail);
}

function refuseOverlap(at: number | null): void {
  if (at === null) return;
  const detail = `The hard negative ${at} of the case may be one of its expected matches.`;
  throw new ServiceError('validation_failed', detail);
}

/** Throws every error that is not a result of the case. */
function wordsOf(error: unknown): string {
  if (!isCaseFault(error)) throw error;
  return error instanceof ServiceError ? refusalWords(error) : error.message;
}

interface Judging {
  readonly k: number;
  readonly durationMs: number;
  readonly retrieval: Retrieval;
  readonly evaluation: Evaluation;
}

function judgedAnswer(
  { results, rerank }: RetrievalAnswer,
  { k, durationMs, retrieval, evaluation }: Judging,
) {
  return {
    k,
    durationMs,
    results: results.slice(0, k).map(({ score, record, snippet }) => ({
      record: judgedRecord(record, record.value),
      score,
      type: record.type,
      snippet,
    })),
    includeTopResults: evaluation.includeTopResults,
    vectorFields: retrieval.vectors.map(({ field }) => field ?? ''),
    rerankEnabled: retrieval.rerank !== null,
    rerank: rerankMembers(rerank),
  };
}
