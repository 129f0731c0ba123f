import type {
  RetrievalEvaluationCaseResult,
  RetrievalEvaluationTopResult,
} from '../../../../contracts/generated/models.ts';
import { beginOf } from '../snippet.ts';
import { type RerankMembers, rerankMembers } from '../trace.ts';
import { firstOverlap, recordMatches } from './matches.ts';
import type { JudgedRecord } from './matching.ts';
import { type RankedExpectation, rankMetrics } from './metrics.ts';
import type { CaseRequest, ExpectedRequest, HardNegativeRequest } from './request.ts';

const TYPE_LENGTH_MAX = 256;

/**
 * A result of a retrieval in the form that an evaluation judges.
 * @testonly
 */
export interface JudgedResult {
  readonly record: JudgedRecord;
  readonly score: number;
  readonly type: string;
  readonly snippet: string;
}

/** The question and the result of a case: plain JSON, so that a job can store it. */
export type CaseResult = RetrievalEvaluationCaseResult;

export interface CaseAnswer {
  readonly k: number;
  readonly durationMs: number;
  /** Sorted from the best to the worst. */
  readonly results: readonly JudgedResult[];
  readonly includeTopResults: boolean;
  /** The names of the compared vectors. */
  readonly vectorFields: readonly string[];
  readonly rerankEnabled: boolean;
  /** The members of a case about reranking. */
  readonly rerank: RerankMembers;
}

/** The index of the first hard negative that may be an expected match, which makes the case invalid. In small steps. */
export function overlapOf({ expected, hardNegatives }: CaseRequest): Generator<void, number | null> {
  return firstOverlap(expected, hardNegatives ?? []);
}

/** The result of a case whose retrieval succeeded, in small steps. */
export function* succeededCase(
  index: number,
  asked: CaseRequest,
  answer: CaseAnswer,
): Generator<void, CaseResult> {
  const results = answer.results.slice(0, answer.k);
  const matches = [...asked.expected, ...(asked.hardNegatives ?? [])];
  const rows = yield* recordMatches(
    matches,
    results.map(({ record }) => record),
  );
  return caseResult(index, asked, { ...answer, results }, rows);
}

/** For each match, whether it matches each result: first the expected matches, then the hard negatives. */
type Rows = readonly (readonly boolean[])[];

function caseResult(index: number, asked: CaseRequest, answer: CaseAnswer, rows: Rows): CaseResult {
  const top = answer.results;
  const [right, bad] = [rows.slice(0, asked.expected.length), rows.slice(asked.expected.length)];
  const expected = asked.expected.map((each, at) => ({ each, ...firstOf(top, right[at]) }));
  const wrong = (asked.hardNegatives ?? []).map((each, at) => ({ each, ...firstOf(top, bad[at]) }));
  const ranked: RankedExpectation[] = expected.map(({ each, rank }) => ({
    relevance: each.relevance ?? 1,
    rank,
  }));
  const metrics = rankMetrics(ranked, answer.k);
  const wrongRanks = wrong.flatMap(({ rank }) => (rank === null ? [] : [rank]));
  return {
    ...namesOf(index, asked, answer.k),
    status: 'succeeded',
    error: null,
    durationMs: answer.durationMs,
    retrievedCount: top.length,
    matchedCount: metrics.matched,
    hit: metrics.matched > 0,
    firstRelevantRank: metrics.firstRank,
    reciprocalRank: metrics.reciprocalRank,
    precisionAtK: metrics.precision,
    recallAtK: metrics.recall,
    ndcgAtK: metrics.ndcg,
    hardNegativeMatchedCount: wrongRanks.length,
    hardNegativeHit: wrongRanks.length > 0,
    firstHardNegativeRank: wrongRanks.length === 0 ? null : Math.min(...wrongRanks),
    hardNegativeRateAtK: Math.min(1, wrongRanks.length / answer.k),
    rerankEnabled: answer.rerankEnabled,
    ...answer.rerank,
    expected: expected.map(({ each, rank, score }) => ({
      ...placeOf(each),
      relevance: each.relevance ?? 1,
      rank,
      score,
    })),
    hardNegatives: wrong.map(({ each, rank, score }) => ({
      ...placeOf(each),
      reason: each.reason ?? null,
      rank,
      score,
    })),
    topResults: answer.includeTopResults
      ? top.map((result, at) =>
          topResult(at + 1, result, answer, {
            matchedExpected: right.some((row) => row[at]),
            matchedHardNegative: bad.some((row) => row[at]),
          }),
        )
      : [],
  };
}

/** The result of a case whose retrieval failed: it found no records. */
export function failedCase(
  index: number,
  asked: CaseRequest,
  failure: { k: number; durationMs: number; error: string },
): CaseResult {
  const nothing = { k: failure.k, durationMs: failure.durationMs, results: [], includeTopResults: false };
  const rerank = { vectorFields: [], rerankEnabled: false, rerank: rerankMembers(null) };
  return {
    ...caseResult(index, asked, { ...nothing, ...rerank }, []),
    status: 'failed',
    error: failure.error,
  };
}

function namesOf(index: number, { name, request, expected, hardNegatives }: CaseRequest, k: number) {
  const counts = { expectedCount: expected.length, hardNegativeCount: (hardNegatives ?? []).length };
  return { index, name: name ?? null, query: request.query, k, ...counts };
}

function firstOf(top: readonly JudgedResult[], row: readonly boolean[] = []) {
  const at = row.indexOf(true);
  return at === -1 ? { rank: null, score: null } : { rank: at + 1, score: top[at]!.score };
}

function placeOf({ id, partitionKey, collection }: ExpectedRequest | HardNegativeRequest) {
  return { id: id ?? '', partitionKey: partitionKey ?? null, collection: collection ?? null };
}

function topResult(
  rank: number,
  { record, score, type, snippet }: JudgedResult,
  answer: CaseAnswer,
  matched: { readonly matchedExpected: boolean; readonly matchedHardNegative: boolean },
): RetrievalEvaluationTopResult {
  const { collection, id, partitionKey } = record;
  const { rerank, vectorFields } = answer;
  return {
    rank,
    score,
    collection,
    id,
    partitionKey,
    type: beginOf(type, TYPE_LENGTH_MAX),
    ...matched,
    rerankFallbackApplied: rerank.rerankFallbackApplied,
    rerankProviderStatus: rerank.rerankProviderStatus,
    vectorIndexUsed: false,
    vectorIndexProvider: vectorFields.length === 0 ? null : 'exact_scan',
    vectorIndexFields: vectorFields,
    snippet,
  };
}
