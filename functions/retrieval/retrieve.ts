import type { ReadCall } from '../collections/read-call.ts';
import type { JsonObject } from '../kernel/canonical-json.ts';
import { settledEach } from '../kernel/settled-each.ts';
import { elapsedMs } from '../kernel/timestamp.ts';
import { inTurns } from '../kernel/turns.ts';
import { newTraceId, writeTrace } from '../traces/write-trace.ts';
import type { RetrievalParts } from './parts.ts';
import { type QueryVectors, queryVectors } from './query-vectors.ts';
import { rerankResults } from './rerank-results.ts';
import { candidateLimits } from './rules/candidate-limits.ts';
import { retrievalDiagnostics } from './rules/diagnostics.ts';
import { mergeCollections } from './rules/merge.ts';
import type { Retrieval } from './rules/request.ts';
import type { Reranked } from './rules/rerank.ts';
import type { RerankOutcome } from './rules/rerank-outcome.ts';
import { snippetOf } from './rules/snippet.ts';
import { type RetrievalFacts, retrievalTrace, tracedRequest, tracedSummary } from './rules/trace.ts';
import { type FoundCollection, type FoundRecord, searchCollection } from './search-collection.ts';

/** Collections of one retrieval that are searched at the same time: a space has two places for long reads. */
const WIDTH = 2;

/** A result with its rank. */
export interface RetrievedRecord {
  /** Starts at 1. */
  readonly rank: number;
  readonly score: number;
  readonly record: FoundRecord;
  readonly snippet: string;
  /** `null` without a trace. */
  readonly diagnostics: JsonObject | null;
}

export interface RetrievalAnswer {
  readonly results: readonly RetrievedRecord[];
  /** `null` if the retrieval asks for none. */
  readonly trace: JsonObject | null;
  readonly rerank: RerankOutcome | null;
  readonly durationMs: number;
}

export interface RetrieveCall extends ReadCall {
  /** Whether a requested trace is also stored; default: true. */
  readonly storesTrace?: boolean;
  /** The id of the request or the job, which the traces of rerankers name. */
  readonly correlationId?: string;
  /** Whether a transient failure of the reranker is thrown, also if the retrieval may fall back; default: false. */
  readonly throwsPassing?: boolean;
}

/**
 * Answers a retrieval. Each collection is searched as of one moment. Throws the refusal of an absent collection, of the
 * searches and of their cost, and a `ProviderFailure` if the query gets no vector.
 */
export async function retrieve(
  parts: RetrievalParts,
  space: string,
  retrieval: Retrieval,
  call: RetrieveCall = {},
): Promise<RetrievalAnswer> {
  const { clock, random } = parts.records.world;
  const startedAt = clock.now();
  const signal = call.signal ?? new AbortController().signal;
  const vectors = await queryVectors(parts, space, retrieval, signal);
  const found = await searchAll(parts, space, { retrieval, vectors }, call);
  const lists = found.map(({ records }) => records);
  const merged = await inTurns(
    mergeCollections(lists, candidateLimits(retrieval).pool),
    parts.records.world.turns.of(space),
  );
  const { query, rerank: options, limit } = retrieval;
  const { results, outcome } = await rerankResults(parts.rerankers, merged, {
    query,
    options,
    space,
    correlationId: call.correlationId ?? null,
    signal,
    throwsPassing: call.throwsPassing ?? false,
    pointer: retrieval.pointer,
  });
  const best = results.slice(0, limit);
  const durationMs = elapsedMs(startedAt, clock.now());
  const answered = { retrieval, found, vectors, outcome };
  const answer = {
    results: best.map((result, index) => resultOf(index + 1, result, answered)),
    rerank: outcome,
    durationMs,
  };
  if (!retrieval.includeTrace) return { ...answer, trace: null };
  const facts: RetrievalFacts = {
    id: newTraceId(random),
    durationMs,
    embedding: vectors,
    preparedVectors: vectors?.prepared ?? 0,
    pools: found.map(({ pool }) => pool),
    returned: best.length,
    rerank: outcome,
  };
  if (call.storesTrace !== false) await storeTrace(parts, space, retrieval, { facts, startedAt });
  return { ...answer, trace: retrievalTrace(retrieval, facts) };
}

interface Asked {
  readonly retrieval: Retrieval;
  readonly vectors: QueryVectors | null;
}

/** A failed search refuses the call only after the searches of all collections have ended, so that none outlives the call. */
async function searchAll(
  parts: RetrievalParts,
  space: string,
  asked: Asked,
  call: ReadCall,
): Promise<readonly FoundCollection[]> {
  let isRefused = false;
  const settled = await settledEach(asked.retrieval.collections, WIDTH, async (name) => {
    if (isRefused) return null;
    try {
      return await searchCollection(parts, space, name, asked, call);
    } catch (error) {
      isRefused = true;
      throw error;
    }
  });
  return settled.flatMap((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value === null ? [] : [each.value];
  });
}

interface AnsweredRetrieval extends Asked {
  readonly found: readonly FoundCollection[];
  readonly outcome: RerankOutcome | null;
}

function resultOf(
  rank: number,
  { result, score, rerank }: Reranked<FoundRecord>,
  answered: AnsweredRetrieval,
): RetrievedRecord {
  const { retrieval, found, vectors, outcome } = answered;
  const snippet = snippetOf(result.value['content']);
  const plain = { rank, score, record: result, snippet };
  if (!retrieval.includeTrace) return { ...plain, diagnostics: null };
  const { pool, fields } = found.find((each) => each.pool.collection === result.collection)!;
  const { fused, lexical, identity } = result;
  const own = { fused, pool, fields, lexical, identity: { ...identity }, rank, score, rerank };
  const shared = { embedding: vectors, outcome, pool: candidateLimits(retrieval).pool };
  return { ...plain, diagnostics: retrievalDiagnostics(retrieval, own, shared) };
}

async function storeTrace(
  { traces }: RetrievalParts,
  space: string,
  retrieval: Retrieval,
  { facts, startedAt }: { readonly facts: RetrievalFacts; readonly startedAt: number },
): Promise<void> {
  await writeTrace(traces, space, {
    id: facts.id,
    operation: 'retrieval.search',
    adapter: null,
    request: tracedRequest(retrieval),
    resultSummary: tracedSummary(retrieval, facts),
    startedAt,
    durationMs: facts.durationMs,
  });
}
