import type { RetrievalEvaluationCaseResult } from '../../../contracts/generated/models.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { TRACED_SUCCESS } from '../../traces/trace.ts';
import type { CandidateCounts } from './diagnostics.ts';
import type { Retrieval } from './request.ts';
import type { RerankOutcome } from './rerank-outcome.ts';

/** The facts of a retrieval for its traces. */
export interface RetrievalFacts {
  readonly id: string;
  readonly durationMs: number;
  /** `null` if no text was embedded. */
  readonly embedding: { readonly modelId: string; readonly dimensions: number } | null;
  /** The number of different vectors of the query. */
  readonly preparedVectors: number;
  readonly pools: readonly CandidateCounts[];
  readonly returned: number;
  readonly rerank: RerankOutcome | null;
}

/** The member `trace` of an answer. */
export function retrievalTrace(retrieval: Retrieval, facts: RetrievalFacts): JsonObject {
  const { mode, profile, vectors } = retrieval;
  const { id, durationMs, embedding, pools } = facts;
  return {
    id,
    profile,
    durationMs,
    searchMode: mode,
    embeddingModel: embedding?.modelId ?? null,
    embeddingDimensions: embedding?.dimensions ?? null,
    embeddingPurpose: vectors[0]?.question.purpose ?? null,
    preparedVectorQueries: facts.preparedVectors,
    candidateCount: pools.reduce((sum, { mergedCandidates }) => sum + mergedCandidates, 0),
    returnedCount: facts.returned,
    candidatePools: pools.map((pool) => ({ ...pool, searchMode: mode })),
    rerankEnabled: retrieval.rerank !== null,
    ...rerankMembers(facts.rerank),
  };
}

/** The members about reranking in evaluations and traces. */
export type RerankMembers = Omit<
  Pick<RetrievalEvaluationCaseResult, Extract<keyof RetrievalEvaluationCaseResult, `rerank${string}`>>,
  'rerankEnabled'
>;

export function rerankMembers(outcome: RerankOutcome | null): RerankMembers {
  return {
    rerankProvider: outcome?.provider ?? null,
    rerankTraceId: outcome?.traceId ?? null,
    rerankFallbackApplied: (outcome?.failure ?? null) !== null,
    rerankFailureClass: outcome?.failure?.failureClass ?? null,
    rerankProviderStatus: outcome?.failure?.providerStatus ?? (outcome === null ? null : 'ok'),
    rerankInputCandidateCount: outcome?.candidates ?? 0,
    rerankProviderPayloadBytes: outcome?.payloadBytes ?? 0,
    rerankProviderMaxInputBytes: outcome?.inputBytesMax ?? 0,
  };
}

/** The input of the stored trace `retrieval.search`. It has the query, because readers of traces of retrievals need it. */
export function tracedRequest({
  query,
  collections,
  partitionKeys,
  mode,
  profile,
  limit,
  minScore,
  vectors,
  rerank,
}: Retrieval): JsonObject {
  return {
    query,
    collections,
    partitionKeys,
    profile,
    searchMode: mode,
    limit,
    minScore,
    vectorFields: vectors.map(({ field }) => field),
    rerankEnabled: rerank !== null,
    rerankProvider: rerank?.provider ?? null,
  };
}

/** The output of that trace: the answer without the texts of the records. */
export function tracedSummary(retrieval: Retrieval, facts: RetrievalFacts): JsonObject {
  const { id: _, durationMs: __, profile: ___, ...summary } = retrievalTrace(retrieval, facts);
  return { status: TRACED_SUCCESS, ...summary };
}
