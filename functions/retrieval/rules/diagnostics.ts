import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import type { Metric } from '../../store/search.ts';
import type { Fused } from './fusion.ts';
import type { Retrieval } from './request.ts';
import type { RerankOutcome } from './rerank-outcome.ts';

/** The counts of the searches of one collection. */
export interface CandidateCounts {
  readonly collection: string;
  /** The number of different records that a vector found. */
  readonly vectorCandidates: number;
  /** The number of matches by the names of the vectors. */
  readonly vectorCandidatesByField: Readonly<Record<string, number>>;
  readonly lexicalCandidates: number;
  /** The number of different records of all searches. */
  readonly mergedCandidates: number;
}

/** The input of the diagnostics of a result. */
export interface DiagnosedResult {
  readonly fused: Fused;
  readonly pool: CandidateCounts;
  /** The names and metrics of the vectors, in their order. */
  readonly fields: readonly { readonly field: string; readonly metric: Metric }[];
  /** The explanation of the search by words; `null` if it did not find the record. */
  readonly lexical: JsonObject | null;
  readonly identity: JsonObject;
  readonly rank: number;
  readonly score: number;
  readonly rerank: { readonly rank: number; readonly score: number } | null;
}

interface Embedding {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
}

const SCHEMA_VERSION = 'svc.retrieval.diagnostics.v1';

/** The diagnostics of one result. They do not depend on the provider of storage. */
export function retrievalDiagnostics(
  retrieval: Retrieval,
  result: DiagnosedResult,
  {
    embedding,
    outcome,
    pool,
  }: { readonly embedding: Embedding | null; readonly outcome: RerankOutcome | null; readonly pool: number },
): JsonObject {
  const { fused, lexical, identity } = result;
  const sources = [
    ...(fused.vectorRank === null ? [] : ['vector']),
    ...(fused.lexicalRank === null ? [] : ['lexical']),
    ...(result.rerank === null ? [] : ['rerank']),
  ];
  return {
    schemaVersion: SCHEMA_VERSION,
    resultIdentity: identity,
    scoreComponents: componentsOf(retrieval, result, lexical),
    scoreNormalization: normalizationOf(retrieval, result),
    candidateSources: sources,
    candidateCounts: countsOf(result.pool, pool, outcome),
    reasonCodes: codesOf(retrieval, sources, outcome, result),
    matchedFields: [...vectorPaths(result), ...stringsIn(lexical, 'matchedFields')],
    matchedTerms: stringsIn(lexical, 'matchedTerms'),
    traceReferences: [],
    details: {
      ...objectIn(lexical, 'details'),
      ...detailsOf(retrieval, result, embedding),
      ...rerankDetails(outcome),
      rank: result.rank,
    },
  };
}

function componentsOf(
  { mode, vectors, hybrid }: Retrieval,
  { fused, score, rerank }: DiagnosedResult,
  lexical: JsonObject | null,
): JsonObject {
  const several = vectors.length > 1;
  return {
    ...objectIn(lexical, 'scoreComponents'),
    final: score,
    ...(fused.vector === null ? {} : { vector: fused.vector }),
    ...(fused.vectorNormalized === null ? {} : { vectorNormalized: fused.vectorNormalized }),
    ...(several && fused.vectorNormalized !== null ? { vectorAggregate: fused.vectorNormalized } : {}),
    ...(mode === 'hybrid' ? { vectorWeight: hybrid.vectorWeight, lexicalWeight: hybrid.lexicalWeight } : {}),
    ...(mode === 'hybrid' && hybrid.fusion === 'rrf' ? { rrf: fused.score } : {}),
    ...(rerank === null ? {} : { rerank: rerank.score, original: fused.score }),
  };
}

function finalKind({ mode, vectors, hybrid }: Retrieval): string {
  if (mode === 'lexical') return 'lexical.score';
  if (mode === 'hybrid') return hybrid.fusion === 'rrf' ? 'hybrid.rrf' : 'hybrid.weighted_normalized';
  return vectors.length > 1 ? 'vector.multi_field_weighted_normalized' : 'vector.raw_similarity';
}

function normalizationOf(retrieval: Retrieval, { fields, rerank, lexical }: DiagnosedResult): JsonObject {
  const { mode, vectors, hybrid } = retrieval;
  const [first] = fields;
  const isHybrid = mode === 'hybrid';
  return {
    finalScoreKind: rerank === null ? finalKind(retrieval) : 'rerank.weighted_blend',
    vectorScoreKind:
      vectors.length > 1 ? 'vector.multi_field_weighted_normalized' : vectorKind(first?.metric),
    lexicalScoreKind: objectIn(lexical, 'scoreNormalization')['lexicalScoreKind'] ?? null,
    hybridFusion: isHybrid ? hybrid.fusion : null,
    vectorDistanceFunction: first?.metric ?? null,
    vectorNormalization: mode !== 'lexical' && (isHybrid || vectors.length > 1) ? 'unit_interval' : null,
    weights: isHybrid ? { vector: hybrid.vectorWeight, lexical: hybrid.lexicalWeight } : {},
    parameters: isHybrid && hybrid.fusion === 'rrf' ? { rrfK: hybrid.rrfK } : {},
  };
}

function vectorKind(metric: Metric | undefined): string | null {
  return metric === undefined ? null : `vector.similarity.${metric.toLowerCase()}`;
}

function countsOf(pool: CandidateCounts, most: number, outcome: RerankOutcome | null): JsonObject {
  const byField = Object.entries(pool.vectorCandidatesByField);
  return {
    collectionVectorCandidates: pool.vectorCandidates,
    ...Object.fromEntries(byField.map(([field, count]) => [`collectionVectorCandidates.${field}`, count])),
    collectionVectorCandidateFields: byField.length,
    collectionLexicalCandidates: pool.lexicalCandidates,
    collectionMergedCandidates: pool.mergedCandidates,
    retrievalCandidateLimit: most,
    ...(outcome === null ? {} : { rerankInputCandidates: outcome.candidates }),
  };
}

function codesOf(
  { mode, vectors, hybrid }: Retrieval,
  sources: readonly string[],
  outcome: RerankOutcome | null,
  { fused }: DiagnosedResult,
): readonly string[] {
  return [
    'result.identity.record',
    `mode.${mode}`,
    ...sources.map((source) => `candidate.source.${source}`),
    ...(fused.vector === null ? [] : ['score.vector.raw_similarity']),
    ...(fused.vectorNormalized === null ? [] : ['score.vector.normalized']),
    ...(fused.lexical === null ? [] : ['score.lexical']),
    ...(vectors.length > 1 ? ['fusion.multi_vector'] : []),
    ...(mode === 'hybrid' ? [`fusion.${hybrid.fusion}`] : []),
    'rank.final.assigned',
    'rank.tie_break.applied',
    ...rerankCodes(outcome),
  ];
}

function rerankCodes(outcome: RerankOutcome | null): readonly string[] {
  if (outcome === null) return [];
  return outcome.failure === null ? ['rerank.applied'] : ['rerank.fallback', 'rank.pre_rerank_retained'];
}

function vectorPaths({ fused, fields }: DiagnosedResult): readonly string[] {
  return fields.flatMap(({ field }, index) =>
    (fused.fields[index] ?? null) === null ? [] : [`/vectors/${field}/values`],
  );
}

function detailsOf(
  { mode, vectors, hybrid }: Retrieval,
  { pool, fields }: DiagnosedResult,
  embedding: Embedding | null,
): JsonObject {
  const names = fields.map(({ field }) => field);
  const used = {
    vectorFields: names,
    vectorIndexFields: names,
    vectorIndexProvider: 'exact_scan',
    vectorIndexUsed: false,
    vectorIndexReason: 'local_exact_scan',
  };
  return {
    searchMode: mode,
    collection: pool.collection,
    ...(vectors.length > 0 ? used : {}),
    ...(embedding === null
      ? {}
      : {
          embeddingProvider: embedding.provider,
          embeddingModel: embedding.modelId,
          embeddingDimensions: embedding.dimensions,
        }),
    ...(mode === 'hybrid' ? { hybridFusion: hybrid.fusion, rrfK: hybrid.rrfK } : {}),
  };
}

function rerankDetails(outcome: RerankOutcome | null): JsonObject {
  if (outcome === null) return {};
  const { provider, failure, payloadBytes, inputBytesMax } = outcome;
  return {
    rerankProvider: provider,
    rerankProviderPayloadBytes: payloadBytes,
    rerankProviderMaxInputBytes: inputBytesMax,
    ...(failure === null
      ? {}
      : { rerankFailureClass: failure.failureClass, rerankProviderStatus: failure.providerStatus }),
  };
}

function objectIn(value: JsonObject | null, name: string): JsonObject {
  const member = value?.[name];
  return typeof member === 'object' && member !== null && !Array.isArray(member)
    ? (member as JsonObject)
    : {};
}

function stringsIn(value: JsonObject | null, name: string): readonly string[] {
  const member: Json | undefined = value?.[name];
  return Array.isArray(member) ? member.filter((each) => typeof each === 'string') : [];
}
