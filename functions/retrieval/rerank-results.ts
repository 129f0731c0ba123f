import { invalidMember } from '../kernel/errors.ts';
import { isPassing, ProviderFailure } from '../providers/failure.ts';
import type { RerankAnswer, RerankCall, Reranker, Rerankers } from './reranker.ts';
import { blend, candidateId, candidateText, type Reranked, type RerankerPayload } from './rules/rerank.ts';
import type { RerankOptions } from './rules/rerank-options.ts';
import type { RerankFailure, RerankOutcome } from './rules/rerank-outcome.ts';
import type { FoundRecord } from './search-collection.ts';

export interface RerankedResults {
  readonly results: readonly Reranked<FoundRecord>[];
  /** `null`: the retrieval asks for no reranking. */
  readonly outcome: RerankOutcome | null;
}

/**
 * Orders the results with the reranker. If it fails, the results keep their order, or the call is refused if the retrieval
 * forbids that. With `throwsPassing`, a transient failure is always thrown.
 */
export async function rerankResults(
  rerankers: Rerankers,
  results: readonly FoundRecord[],
  {
    query,
    options,
    space,
    correlationId,
    signal,
    throwsPassing,
    pointer,
  }: {
    readonly query: string;
    readonly options: RerankOptions | null;
    readonly space: string;
    readonly correlationId: string | null;
    readonly signal: AbortSignal;
    readonly throwsPassing: boolean;
    /** The place of the retrieval in its request. */
    readonly pointer: string;
  },
): Promise<RerankedResults> {
  if (options === null) return { results: unranked(results), outcome: null };
  const reranker = rerankers.find(options.provider);
  const candidates = results.map((record) => ({
    id: candidateId(record),
    text: candidateText(record.value['content'], options),
  }));
  const payload = { query, candidates, limit: candidates.length };
  const inputBytesMax = reranker?.inputBytesMax(options.mode) ?? null;
  const payloadBytes = payloadSize(payload, inputBytesMax ?? 0);
  const { mode, timeoutSeconds, maxOutputBytes } = options;
  const call = { space, correlationId, mode, timeoutSeconds, maxOutputBytes, signal };
  const answer = await answerOf(reranker, { payload, payloadBytes, inputBytesMax }, call);
  if (throwsPassing && 'passing' in answer && answer.passing !== undefined) throw answer.passing;
  const failure = 'failure' in answer ? answer.failure : null;
  if (failure !== null && !options.fallbackOnFailure)
    throw invalidMember(
      `${pointer}/rerank`,
      `asks a provider that gave no order: ${failure.failureClass}, ${failure.providerStatus}`,
    );
  const provider = reranker?.provider ?? options.provider ?? '';
  const outcome = {
    provider,
    traceId: answer.traceId,
    failure,
    candidates: candidates.length,
    payloadBytes,
    inputBytesMax,
  };
  return { results: 'items' in answer ? blend(results, answer.items, options) : unranked(results), outcome };
}

/** The bytes of the payload as JSON in UTF-8. For a payload that is surely larger than `most`, a lower bound without printing it. */
function payloadSize(payload: RerankerPayload, most: number): number {
  const characters = payload.candidates.reduce((sum, { text }) => sum + text.length, payload.query.length);
  return characters > most ? characters : Buffer.byteLength(JSON.stringify(payload));
}

function unranked(results: readonly FoundRecord[]): readonly Reranked<FoundRecord>[] {
  return results.map((result, index) => ({
    result,
    score: result.score,
    rerank: null,
    originalRank: index + 1,
  }));
}

interface Sent {
  readonly payload: RerankerPayload;
  readonly payloadBytes: number;
  readonly inputBytesMax: number | null;
}

async function answerOf(reranker: Reranker | null, sent: Sent, call: RerankCall): Promise<RerankAnswer> {
  if (reranker === null) return failed('unsupported', 'provider_not_registered');
  if (sent.payload.candidates.length === 0) return { traceId: null, items: [] };
  if (sent.inputBytesMax === null) return failed('policy', 'unknown_mode');
  if (sent.payloadBytes > sent.inputBytesMax) return failed('policy', 'input_limit');
  try {
    return await reranker.rerank(sent.payload, call);
  } catch (error) {
    // The client disconnected, or the job was cancelled: no caller waits for results in the old order.
    if (call.signal.aborted || !(error instanceof ProviderFailure)) throw error;
    const answer = failed(error.failureClass, error.providerStatus);
    return isPassing(error) || error.isOfGuard ? { ...answer, passing: error } : answer;
  }
}

function failed(
  failureClass: string,
  providerStatus: string,
): RerankAnswer & { readonly failure: RerankFailure } {
  return { traceId: null, failure: { failureClass, providerStatus } };
}
