import { limits } from '../../../contracts/generated/limits.ts';
import { checkWeight, checkWeights, checkWhole, given, readWord } from './members.ts';

/** The fusion of both kinds of results into one list, as a request names it. */
export interface HybridRequest {
  readonly vectorWeight?: number | null;
  readonly lexicalWeight?: number | null;
  readonly candidateMultiplier?: number | null;
  readonly vectorCandidateLimit?: number | null;
  readonly lexicalCandidateLimit?: number | null;
  readonly fusion?: string | null;
  readonly rrfK?: number | null;
}

export interface HybridOptions {
  readonly vectorWeight: number;
  readonly lexicalWeight: number;
  readonly candidateMultiplier: number;
  /** `null`: computed from the multiplier. */
  readonly vectorCandidateLimit: number | null;
  readonly lexicalCandidateLimit: number | null;
  readonly fusion: 'weighted' | 'rrf';
  readonly rrfK: number;
}

const RRF_K_MAX = 1_000_000;
const MULTIPLIER_MAX = 1_000_000;
/** Spellings of reciprocal rank fusion that clients of other servers send. */
const fusions = [
  'weighted',
  'rrf',
  'reciprocalRankFusion',
  'reciprocal_rank_fusion',
  'reciprocal-rank-fusion',
] as const;

/** Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`. */
export function readHybrid(request: HybridRequest, pointer: string): HybridOptions {
  const vectorWeight = checkWeight(request.vectorWeight ?? 0.55, `${pointer}/vectorWeight`);
  const lexicalWeight = checkWeight(request.lexicalWeight ?? 0.45, `${pointer}/lexicalWeight`);
  checkWeights([vectorWeight, lexicalWeight], pointer);
  const fusion = readWord(request.fusion, 'weighted', fusions, `${pointer}/fusion`);
  const { vectorCandidateLimit, lexicalCandidateLimit } = request;
  const candidates = (value: number | null | undefined, name: string) =>
    given(value) ? checkWhole(value, `${pointer}/${name}`, limits.retrievalCandidatesMax) : null;
  return {
    vectorWeight,
    lexicalWeight,
    candidateMultiplier: checkWhole(
      request.candidateMultiplier ?? 8,
      `${pointer}/candidateMultiplier`,
      MULTIPLIER_MAX,
    ),
    vectorCandidateLimit: candidates(vectorCandidateLimit, 'vectorCandidateLimit'),
    lexicalCandidateLimit: candidates(lexicalCandidateLimit, 'lexicalCandidateLimit'),
    fusion: fusion === 'weighted' ? 'weighted' : 'rrf',
    rrfK: checkWhole(request.rrfK ?? 60, `${pointer}/rrfK`, RRF_K_MAX),
  };
}
