import { sha256 } from '../../kernel/canonical-json.ts';
import type { RerankPayload } from './payloads.ts';

export type RankedItem = {
  readonly id: string;
  /** From 1 on. */
  readonly rank: number;
  readonly score: number;
};

const DECIMALS = 1_000_000;
const notOfToken = /[^\p{L}\p{N}]/gu;

/**
 * The candidates by the share of the words of the query that they have, from 0 to 1 with six decimals. Candidates with the same
 * share keep an order that depends on nothing but their ids and texts.
 */
export function rankByTokens({ query, candidates, limit }: RerankPayload): RankedItem[] {
  const wanted = tokensOf(query);
  const scored = candidates.map(({ id, text }) => {
    const score = shareOf(wanted, tokensOf(text));
    return { id, score, tie: sha256(id + text) };
  });
  scored.sort((left, right) => right.score - left.score || (left.tie < right.tie ? -1 : 1));
  return scored.slice(0, limit).map(({ id, score }, at) => ({ id, rank: at + 1, score }));
}

function shareOf(wanted: ReadonlySet<string>, found: ReadonlySet<string>): number {
  if (wanted.size === 0) return 0;
  const common = [...wanted].filter((token) => found.has(token)).length;
  return Math.round((common / wanted.size) * DECIMALS) / DECIMALS;
}

function tokensOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().split(/\s+/u);
  return new Set(words.map((word) => word.replace(notOfToken, '')).filter((token) => token !== ''));
}
