import { sha256 } from '../../kernel/canonical-json.ts';
import type { RerankItem, RerankPayload } from './rerank.ts';

const DECIMALS = 1e6;

/**
 * The reranker of the service itself: the share of the words of the query that a text holds, rounded to six decimals. Equal
 * shares are in the order of the hashes of id and text. Yields after each candidate, so that its caller can let others work.
 */
export function* tokenOverlap({
  query,
  candidates,
  limit,
}: RerankPayload): Generator<void, readonly RerankItem[]> {
  const asked = tokensOf(query);
  const scored: { readonly id: string; readonly score: number; readonly tie: string }[] = [];
  for (const { id, text } of candidates) {
    const held = tokensOf(text);
    const common = [...asked].filter((token) => held.has(token)).length;
    const score = asked.size === 0 ? 0 : Math.round((common / asked.size) * DECIMALS) / DECIMALS;
    scored.push({ id, score, tie: sha256(id + text) });
    yield;
  }
  scored.sort((a, b) => b.score - a.score || (a.tie < b.tie ? -1 : Number(a.tie > b.tie)));
  return scored.slice(0, limit).map(({ id, score }, index) => ({ id, rank: index + 1, score }));
}

function tokensOf(text: string): ReadonlySet<string> {
  const tokens = text
    .toLowerCase()
    .split(/\s+/u)
    .map((token) => token.replace(/[^\p{L}\p{Nd}]/gu, ''));
  return new Set(tokens.filter((token) => token !== ''));
}
