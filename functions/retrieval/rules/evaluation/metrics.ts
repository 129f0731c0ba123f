/** An expected match with the rank of the first matching result. */
export interface RankedExpectation {
  readonly relevance: number;
  /** Starts at 1; `null` if none of the first k results matches. */
  readonly rank: number | null;
}

/** The quality of the first k results. All values are from 0 to 1, except `dcg`. */
export interface RankMetrics {
  readonly matched: number;
  readonly firstRank: number | null;
  readonly precision: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  readonly dcg: number;
  readonly ndcg: number;
}

/**
 * The metrics of one ranking at `k`, after Järvelin and Kekäläinen (2002) and the TREC definitions: precision = matched / k,
 * recall = matched / expected, reciprocal rank = 1 / first rank, DCG = Σ relevance / log2(rank + 1), and nDCG = DCG over that
 * of the relevances in falling order, cut at k. One result may match several expected matches: precision and nDCG are at most 1.
 */
export function rankMetrics(given: readonly RankedExpectation[], k: number): RankMetrics {
  const expected = inFiniteSums(given);
  const found = expected
    .filter(
      (each): each is RankedExpectation & { readonly rank: number } => each.rank !== null && each.rank <= k,
    )
    .sort((a, b) => a.rank - b.rank || b.relevance - a.relevance);
  const firstRank = found[0]?.rank ?? null;
  const dcg = gainSum(found);
  const ideal = expected
    .map(({ relevance }) => relevance)
    .sort((a, b) => b - a)
    .slice(0, k);
  const best = gainSum(ideal.map((relevance, index) => ({ relevance, rank: index + 1 })));
  return {
    matched: found.length,
    firstRank,
    precision: Math.min(1, found.length / k),
    recall: found.length / expected.length,
    reciprocalRank: firstRank === null ? 0 : 1 / firstRank,
    dcg,
    ndcg: best === 0 ? 0 : Math.min(1, dcg / best),
  };
}

/** nDCG is a ratio: if the sum of the relevances is not finite, they are divided by the largest. */
function inFiniteSums(expected: readonly RankedExpectation[]): readonly RankedExpectation[] {
  if (Number.isFinite(expected.reduce((sum, { relevance }) => sum + relevance, 0))) return expected;
  const largest = expected.reduce((most, { relevance }) => Math.max(most, relevance), 0);
  return expected.map((each) => ({ ...each, relevance: each.relevance / largest }));
}

function gainSum(gains: readonly { readonly relevance: number; readonly rank: number }[]): number {
  return gains.reduce((sum, { relevance, rank }) => sum + relevance / Math.log2(rank + 1), 0);
}
