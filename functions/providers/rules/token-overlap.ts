import { sha256 } from '../../kernel/canonical-json.ts';
import type { RerankPayload } from './payloads.ts';

export type RankedItem = {
  readonly id: string;
  /** From 1 on. */
  readonly rank: number;
  readonly score: number;
};

type Ranking = Omit<RerankPayload, 'capability'>;

const DECIMALS = 1_000_000;
const notOfToken = /[^\p{L}\p{Nd}]/gu;

/** The order that `tokenOverlap` gives, at once. */
export function rankByTokens(payload: Ranking): readonly RankedItem[] {
  const steps = tokenOverlap(payload);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * The candidates by the share of the query's words that they contain, from 0 to 1 with six decimals. Equal shares are
 * in the order of the hashes of id and text. Yields after each candidate, so that its caller can give others a turn.
 */
export function* tokenOverlap({ query, candidates, limit }: Ranking): Generator<void, readonly RankedItem[]> {
  const wanted = tokensOf(query);
  const scored: { readonly id: string; readonly score: number; readonly tie: string }[] = [];
  for (const { id, text } of candidates) {
    scored.push({ id, score: shareOf(wanted, tokensOf(text)), tie: sha256(id + text) });
    yield;
  }
  scored.sort((a, b) => b.score - a.score || (a.tie < b.tie ? -1 : Number(a.tie > b.tie)));
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
