import { sortedInSteps } from '../../kernel/sorted-in-steps.ts';
import type { Metric } from '../../store/search.ts';
import type { HybridOptions } from './hybrid.ts';

/** Hits of one step, which takes less than a millisecond. */
const STEP_HITS = 1_024;

/** A record that one search of a collection found. */
export interface Hit {
  /** The key of the record within its collection. */
  readonly id: string;
  /** The score of the search. */
  readonly score: number;
}

/** The records that a search by one vector found, the nearest first. */
interface VectorHits {
  readonly weight: number;
  readonly metric: Metric;
  readonly hits: readonly Hit[];
}

/** The records that the searches of one collection found. A search that did not run is absent. */
export interface CollectionHits {
  readonly vectors: readonly VectorHits[];
  readonly lexical: readonly Hit[] | null;
}

/** A record with its scores in the searches of its collection. `null`: the search did not run, or did not find it. */
export interface Fused {
  readonly id: string;
  readonly score: number;
  /** The raw similarity in a retrieval with one vector. */
  readonly vector: number | null;
  /** From 0 to 1; with several vectors, the weighted mean. */
  readonly vectorNormalized: number | null;
  /** Similarities by the order of the vectors. */
  readonly fields: readonly (number | null)[];
  /** The rank, from 1; with several vectors, the best one. */
  readonly vectorRank: number | null;
  readonly lexical: number | null;
  readonly lexicalRank: number | null;
}

/**
 * A similarity as a number from 0 to 1.
 * @testonly
 */
export function normalizedSimilarity(metric: Metric, score: number): number {
  if (metric === 'dotProduct') return score <= 0 ? 0 : score / (1 + score);
  return Math.min(1, Math.max(0, metric === 'cosine' ? (score + 1) / 2 : score));
}

/**
 * One list of the records of a collection, the best first. Records with equal scores keep the order of the searches; only a
 * single search lists them in the order of their keys. In steps, because the searches may find 85,000 records.
 */
export function* fuse(
  { vectors, lexical }: CollectionHits,
  options: HybridOptions,
): Generator<void, readonly Fused[]> {
  const sum = vectors.reduce((total, { weight }) => total + weight, 0);
  const byId = new Map<string, Draft>();
  const draftOf = (id: string) => {
    let draft = byId.get(id);
    if (draft === undefined) {
      draft = newDraft(id, vectors.length);
      byId.set(id, draft);
    }
    return draft;
  };
  for (const [index, { hits }] of vectors.entries()) {
    for (let at = 0; at < hits.length; at += 1) {
      const { id, score } = hits[at]!;
      const draft = draftOf(id);
      draft.fields[index] = score;
      draft.vectorRank = Math.min(draft.vectorRank ?? at + 1, at + 1);
      if ((at + 1) % STEP_HITS === 0) yield;
    }
  }
  for (let at = 0; at < (lexical ?? []).length; at += 1) {
    const { id, score } = lexical![at]!;
    const draft = draftOf(id);
    draft.lexical = score;
    draft.lexicalRank = at + 1;
    if ((at + 1) % STEP_HITS === 0) yield;
  }
  const fused = [...byId.values()];
  for (const [at, draft] of fused.entries()) {
    if ((at + 1) % STEP_HITS === 0) yield;
    draft.vector = vectors.length === 1 ? (draft.fields[0] ?? null) : null;
    draft.vectorNormalized = normalizedOf(draft, vectors, sum);
    draft.score = finalScore(draft, { vectors, lexical }, options);
  }
  return yield* sortedInSteps(fused, (a, b) => b.score - a.score);
}

/** Turns into the result without a copy: a retrieval fuses a thousand records, and copies would cost more than the sums. */
type Draft = { -readonly [Member in keyof Fused]: Fused[Member] } & { readonly fields: (number | null)[] };

function newDraft(id: string, fields: number): Draft {
  return {
    id,
    fields: Array<number | null>(fields).fill(null),
    vectorRank: null,
    lexical: null,
    lexicalRank: null,
    vector: null,
    vectorNormalized: null,
    score: 0,
  };
}

/** A vector that did not find the record counts as 0. */
function normalizedOf(
  { fields, vectorRank }: Draft,
  vectors: readonly VectorHits[],
  sum: number,
): number | null {
  if (vectorRank === null) return null;
  // A product with a weight and its inverse would not give the same number back.
  if (vectors.length === 1) return normalizedSimilarity(vectors[0]!.metric, fields[0]!);
  const normalized = fields.map((score, index) =>
    score === null ? 0 : normalizedSimilarity(vectors[index]!.metric, score),
  );
  return normalized.reduce((total, each, index) => total + each * vectors[index]!.weight, 0) / sum;
}

function finalScore(
  { vector, vectorNormalized, vectorRank, lexical: words, lexicalRank }: Omit<Fused, 'id' | 'score'>,
  { vectors, lexical }: CollectionHits,
  { fusion, vectorWeight, lexicalWeight, rrfK }: HybridOptions,
): number {
  if (lexical === null) return vector ?? vectorNormalized ?? 0;
  if (vectors.length === 0) return words ?? 0;
  if (fusion === 'rrf')
    return reciprocal(vectorWeight, rrfK, vectorRank) + reciprocal(lexicalWeight, rrfK, lexicalRank);
  return (
    (vectorWeight * (vectorNormalized ?? 0) + lexicalWeight * (words ?? 0)) / (vectorWeight + lexicalWeight)
  );
}

function reciprocal(weight: number, k: number, rank: number | null): number {
  return rank === null ? 0 : weight / (k + rank);
}

/** The first records of a list whose order among equal scores is not known yet. */
export interface Cut {
  /** Records that are surely among the first. */
  readonly sure: readonly Fused[];
  /** All have the same score; the first `room` of them in the order of their keys are among the first. */
  readonly tied: readonly Fused[];
  readonly room: number;
}

/** Cuts a list to `most` records with at least `minScore`. */
export function cutAt(fused: readonly Fused[], most: number, minScore: number | null): Cut {
  const high = minScore === null ? fused : fused.filter(({ score }) => score >= minScore);
  const last = high[most - 1];
  if (last === undefined || high[most]?.score !== last.score)
    return { sure: high.slice(0, most), tied: [], room: 0 };
  const sure = high.filter(({ score }) => score > last.score);
  return { sure, tied: high.filter(({ score }) => score === last.score), room: most - sure.length };
}

/**
 * Whether records with one score are known to be in the order of their keys: one search gave all of them the same score, and a
 * search lists such records in that order.
 */
export function isInKeyOrder(tied: readonly Fused[]): boolean {
  const [first] = tied;
  if (first === undefined) return true;
  const byVector = first.fields[0] ?? null;
  if (byVector !== null) return tied.every(({ fields }) => fields[0] === byVector);
  return (
    first.vectorRank === null &&
    tied.every((each) => each.vectorRank === null && each.lexical === first.lexical)
  );
}
