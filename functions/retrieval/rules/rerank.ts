import type { Json } from '../../kernel/canonical-json.ts';
import type { RerankCandidate } from '../../providers/rules/payloads.ts';
import type { CollectionPlace } from './merge.ts';
import type { RerankOptions } from './rerank-options.ts';
import { beginOf, textOf } from './snippet.ts';

/** The request of the capability `ai.rerank`. Of a record, only this text is sent. */
export interface RerankerPayload {
  readonly query: string;
  readonly candidates: readonly RerankCandidate[];
  readonly limit: number;
}

/** The rank and the score that a reranker gives a candidate. */
export interface RerankItem {
  readonly id: string;
  /** Starts at 1. */
  readonly rank: number;
  readonly score: number;
}

const SEPARATOR = '\u001f';

export function candidateId({ collection, partitionKey, id }: CollectionPlace): string {
  return [collection, partitionKey, id].join(SEPARATOR);
}

/** The text of a record for a reranker, cut to `maxCandidateChars`. */
export function candidateText(
  content: Json | undefined,
  { contentField, maxCandidateChars }: Pick<RerankOptions, 'contentField' | 'maxCandidateChars'>,
): string {
  const named = contentField === null ? null : textOf(content, contentField);
  return beginOf(named ?? textOf(content, 'text') ?? firstText(content) ?? '', maxCandidateChars);
}

/** The first string of the content, in the order of its members. Walks without recursion: content may be deep. */
function firstText(content: Json | undefined): string | null {
  const open: Json[] = content === undefined ? [] : [content];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') return next;
    if (typeof next !== 'object' || next === null) continue;
    // The stack limits the number of arguments of a call, and a list may be longer.
    for (const value of Object.values(next).reverse()) open.push(value);
  }
  return null;
}

/** A result in its new place. */
export interface Reranked<Result> {
  readonly result: Result;
  readonly score: number;
  /** `null`: the reranker did not rank the result, so it follows the ranked ones with its old score. */
  readonly rerank: { readonly rank: number; readonly score: number } | null;
  /** The rank before reranking, from 1. */
  readonly originalRank: number;
}

/**
 * The results in the order of the reranker. The new score is the weighted mean of both; equal scores keep the order of the
 * reranker, then the old one. Unknown and repeated ids of an answer are ignored.
 */
export function blend<Result extends CollectionPlace & { readonly score: number }>(
  results: readonly Result[],
  items: readonly RerankItem[],
  {
    rerankScoreWeight,
    originalScoreWeight,
  }: Pick<RerankOptions, 'rerankScoreWeight' | 'originalScoreWeight'>,
): readonly Reranked<Result>[] {
  const named = new Map<string, RerankItem>();
  for (const item of items) if (!named.has(item.id)) named.set(item.id, item);
  const all = results.map((result, index) => {
    const item = named.get(candidateId(result)) ?? null;
    const score =
      item === null ? result.score : meanOf(rerankScoreWeight, item.score, originalScoreWeight, result.score);
    return { result, score, rerank: item && { rank: item.rank, score: item.score }, originalRank: index + 1 };
  });
  const first = all.filter(({ rerank }) => rerank !== null).sort(compareReranked);
  return [...first, ...all.filter(({ rerank }) => rerank === null)];
}

/** The weighted mean of two scores. It lies between them, so it is finite even if a weight times its score is not. */
function meanOf(weight: number, score: number, otherWeight: number, otherScore: number): number {
  const sum = weight + otherWeight;
  const mean = (weight * score + otherWeight * otherScore) / sum;
  return Number.isFinite(mean) ? mean : (weight / sum) * score + (otherWeight / sum) * otherScore;
}

function compareReranked(a: Reranked<unknown>, b: Reranked<unknown>): number {
  return (
    b.score - a.score || (a.rerank?.rank ?? 0) - (b.rerank?.rank ?? 0) || a.originalRank - b.originalRank
  );
}
