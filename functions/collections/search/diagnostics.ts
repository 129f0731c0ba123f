import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { printedNumber } from './numbers.ts';
import type { RankedMatch, Ranking } from './pool.ts';
import { matchedTerms, termFrequency, termScoresOf } from './scoring.ts';
import type { VectorQuery } from './vector-query.ts';

const SCHEMA_VERSION = 'svc.retrieval.diagnostics.v1';
const TIE_BREAK_ORDER = ['score desc', 'partitionKey asc', 'id asc'];

/** The identity of a match's record. */
export interface ResultIdentity {
  readonly collection: string;
  readonly partitionKey: string;
  readonly id: string;
  readonly type: string;
  readonly etag: string;
  readonly revision: number;
}

/** A place in the answer of a vector search. */
export interface VectorPlace {
  /** The number of matches in the whole answer, at most `top`. */
  readonly returned: number;
  /** From 1 on. */
  readonly rank: number;
  readonly score: number;
}

/** The diagnostics of one match of a lexical search. They name no database: every provider gives the same. */
export function lexicalDiagnostics(
  ranking: Ranking,
  match: RankedMatch,
  identity: ResultIdentity,
): JsonObject {
  const { query, corpus, matches } = ranking;
  const { reading, parts } = match;
  return {
    ...common('lexical', identity, { pool: corpus.count, returned: matches.length }, ['score.lexical']),
    scoreComponents: printed({
      lexical: parts.final,
      lexicalBase: parts.base,
      lexicalRaw: parts.raw,
      termCoverage: query.terms.length === 0 ? 0 : matchedTerms(reading.isMatched) / query.terms.length,
      termFrequency: termFrequency(reading, query),
      phraseBoost: parts.phraseBoost,
      exactBoost: parts.exactBoost,
      metadataBoost: parts.metadataBoost,
      maxFieldBoost: reading.fieldBoost,
    }),
    scoreNormalization: normalization({
      finalScoreKind: 'lexical.score',
      lexicalScoreKind: `lexical.${query.scoring}`,
      parameters: query.scoring === 'bm25' ? printed({ bm25K1: query.k1, bm25B: query.b }) : {},
    }),
    matchedFields: [...reading.paths].sort(),
    matchedTerms: query.terms.filter((_, index) => reading.isMatched[index] === 1).sort(),
    details: { ...lexicalDetails(ranking, match), ...tieBreak(match.rank, identity) },
  };
}

function lexicalDetails({ query, corpus, source, isLimited }: Ranking, { reading }: RankedMatch): JsonObject {
  const byTerm = (values: readonly number[]) =>
    Object.fromEntries(values.map((value, index) => [query.terms[index]!, printedNumber(value)]));
  return {
    lexicalFields: query.fields,
    lexicalScoring: query.scoring,
    termIdf: byTerm(corpus.idf),
    termScores: byTerm(termScoresOf(reading, corpus, query)),
    documentLength: reading.length,
    averageDocumentLength: printedNumber(corpus.averageLength),
    corpusDocumentCount: corpus.count,
    lexicalCandidateSource: source,
    lexicalCandidateCount: corpus.count,
    lexicalScanLimit: query.scanLimit,
    lexicalScanLimitSource: query.scanLimitFrom,
    lexicalScanLimitReached: isLimited,
    matchedPhrases: [...reading.phrases].sort(),
    matchedPrefixTerms: query.terms.filter((_, index) => reading.isPrefixed[index] === 1).sort(),
    matchedRequiredPhraseGroups: reading.requiredPhrases.map((phrases) => [...phrases].sort()),
  };
}

/** The diagnostics of one match of a vector search, the same on every provider. */
export function vectorDiagnostics(
  query: VectorQuery,
  place: VectorPlace,
  identity: ResultIdentity,
): JsonObject {
  const score = printedNumber(place.score);
  return {
    // The number of records that a search passes over depends on the database, so name only the ranked ones.
    ...common('vector', identity, { ...place, pool: place.returned }, ['score.vector.raw_similarity']),
    scoreComponents: { vector: score },
    scoreNormalization: normalization({
      finalScoreKind: 'vector.raw_similarity',
      vectorScoreKind: `vector.similarity.${query.metric.toLowerCase()}`,
      vectorDistanceFunction: query.metric,
    }),
    matchedFields: [`/vectors/${query.field}/values`],
    matchedTerms: [],
    details: {
      vectorIndexProvider: 'exact_scan',
      vectorIndexUsed: false,
      vectorIndexReason: 'local_exact_scan',
      ...tieBreak(place.rank, identity),
    },
  };
}

function common(
  mode: 'lexical' | 'vector',
  identity: ResultIdentity,
  { pool, returned }: { readonly pool: number; readonly returned: number },
  scores: readonly string[],
): JsonObject {
  const { collection, partitionKey, id, type, etag, revision } = identity;
  return {
    schemaVersion: SCHEMA_VERSION,
    resultIdentity: { collection, partitionKey, id, type, etag, revision },
    candidateSources: [mode],
    candidateCounts: { searchCandidatePool: pool, returnedCandidates: returned },
    reasonCodes: [
      'result.identity.record',
      `mode.${mode}`,
      `candidate.source.${mode}`,
      ...scores,
      'rank.final.assigned',
      'rank.tie_break.applied',
    ],
    traceReferences: [],
  };
}

function normalization(known: JsonObject): JsonObject {
  return {
    finalScoreKind: null,
    vectorScoreKind: null,
    lexicalScoreKind: null,
    hybridFusion: null,
    vectorDistanceFunction: null,
    vectorNormalization: null,
    weights: {},
    parameters: {},
    ...known,
  };
}

function tieBreak(rank: number, { partitionKey, id }: ResultIdentity): JsonObject {
  return { rank, tieBreakOrder: TIE_BREAK_ORDER, tieBreakKey: { partitionKey, id } };
}

function printed(values: Readonly<Record<string, number>>): Readonly<Record<string, Json>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, printedNumber(value)]));
}
