import { limits } from '../../../contracts/generated/limits.ts';
import type { Retrieval } from './request.ts';

const HYBRID_LEAST = 50;
const RERANK_FACTOR = 4;

/** The numbers of candidates of the searches of a retrieval. A default above the fixed limit is reduced to it. */
export interface CandidateLimits {
  /** The most results before reranking, over all collections. */
  readonly pool: number;
  /** The most matches of each vector, in the order of the vectors. */
  readonly vectors: readonly number[];
  readonly lexical: number;
}

export function candidateLimits({
  mode,
  vectors,
  lexical,
  hybrid,
  rerank,
  limit,
}: Retrieval): CandidateLimits {
  const wanted = rerank === null ? limit : (rerank.candidateLimit ?? RERANK_FACTOR * limit);
  const pool = Math.max(limit, Math.min(wanted, limits.retrievalRerankCandidatesMax));
  const derived = Math.max(hybrid.candidateMultiplier * pool, pool, HYBRID_LEAST);
  const mixed = (explicit: number | null) => (explicit === null ? derived : Math.max(pool, explicit));
  const ofVectors = mode === 'hybrid' ? mixed(hybrid.vectorCandidateLimit) : pool;
  const ofWords = mode === 'hybrid' ? mixed(hybrid.lexicalCandidateLimit) : pool;
  return {
    pool,
    vectors: vectors.map(({ candidateLimit }) =>
      most(candidateLimit === null ? ofVectors : Math.max(pool, candidateLimit)),
    ),
    lexical: most(Math.max(lexical?.top ?? limits.searchLexicalTopDefault, ofWords)),
  };
}

function most(value: number): number {
  return Math.min(value, limits.retrievalCandidatesMax);
}
