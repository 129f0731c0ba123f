import { mappedInSteps } from '../../kernel/sorted-in-steps.ts';
import type { Flags } from './counts.ts';
import type { LexicalQuery } from './lexical-query.ts';
import type { Reading } from './reader.ts';

/** Of readings with the most terms a step takes less than a millisecond. */
const STEP_READINGS = 128;

/** What the candidates of a query are together. Scores compare candidates with each other, not with the collection. */
export interface Corpus {
  readonly count: number;
  /** Of the words of the selected fields. */
  readonly averageLength: number;
  /** How rare each term is among the candidates. */
  readonly idf: readonly number[];
}

export interface Score {
  /** A float32 from 0 to 1. */
  readonly final: number;
  /** `raw` as a part of the highest raw score of the candidates, in float32. */
  readonly base: number;
  readonly raw: number;
  readonly phraseBoost: number;
  readonly exactBoost: number;
  readonly metadataBoost: number;
}

/** In steps, as scores are. */
export function* corpusOf(readings: readonly Reading[], terms: number): Generator<void, Corpus> {
  const count = readings.length;
  const holding = new Uint32Array(terms);
  let length = 0;
  for (const [place, reading] of readings.entries()) {
    length += reading.length;
    for (const [term, isMatched] of reading.isMatched.entries()) holding[term]! += isMatched;
    if ((place + 1) % STEP_READINGS === 0) yield;
  }
  const idf = Array.from(holding, (held) => Math.log(1 + (count - held + 0.5) / (held + 0.5)));
  return { count, averageLength: count === 0 ? 0 : length / count, idf };
}

/** Scores in the order of the readings. Sums are made in the order of the terms, so that no provider changes a digit. */
export function* scoresOf(
  readings: readonly Reading[],
  corpus: Corpus,
  query: LexicalQuery,
): Generator<void, readonly Score[]> {
  const isBm25 = query.scoring === 'bm25';
  const raws = yield* mappedInSteps(
    readings,
    (reading) => (isBm25 ? bm25(reading, corpus, query) : coverage(reading)),
    STEP_READINGS,
  );
  const highest = isBm25 ? raws.reduce((most, raw) => Math.max(most, raw), 0) : 1;
  const scored = readings.map((reading, index) => ({ reading, raw: raws[index]! }));
  return yield* mappedInSteps(
    scored,
    ({ reading, raw }) => scoreOf(raw, highest === 0 ? 0 : raw / highest, reading, query),
    STEP_READINGS,
  );
}

/** What each term adds to the raw score of a candidate; none where terms are not scored one by one. */
export function termScoresOf(reading: Reading, corpus: Corpus, query: LexicalQuery): readonly number[] {
  if (query.scoring !== 'bm25') return [];
  const norm = normOf(reading, corpus, query);
  return corpus.idf.map((rarity, term) => termScore(reading.weights[term]!, rarity, query.k1, norm));
}

function bm25(reading: Reading, corpus: Corpus, query: LexicalQuery): number {
  const norm = normOf(reading, corpus, query);
  let raw = 0;
  for (const [term, weight] of reading.weights.entries()) {
    raw += termScore(weight, corpus.idf[term]!, query.k1, norm);
  }
  return raw;
}

function normOf({ length }: Reading, { averageLength }: Corpus, { k1, b }: LexicalQuery): number {
  return k1 * (1 - b + (b * Math.max(1, length)) / Math.max(1, averageLength));
}

function termScore(weight: number, rarity: number, k1: number, norm: number): number {
  return weight === 0 ? 0 : (rarity * (weight * (k1 + 1))) / (weight + norm);
}

function coverage({ hits, isMatched }: Reading): number {
  const terms = isMatched.length;
  if (terms === 0) return 0;
  const raw = 0.8 * (matchedTerms(isMatched) / terms) + 0.2 * Math.min(1, hits / terms);
  return Math.min(1, Math.max(0, raw));
}

export function matchedTerms(isMatched: Flags): number {
  return isMatched.reduce((sum, each) => sum + each, 0);
}

/** The frequencies of all terms together, as the scoring counts them: fields have boosts with bm25 alone. */
export function termFrequency({ weights, hits }: Reading, { scoring }: LexicalQuery): number {
  return scoring === 'bm25' ? weights.reduce((sum, each) => sum + each, 0) : hits;
}

function scoreOf(raw: number, part: number, reading: Reading, { boosts }: LexicalQuery): Score {
  const base = Math.fround(part);
  const phraseBoost = reading.phrases.length > 0 ? boosts.phrase : 0;
  const exactBoost = reading.isExact ? boosts.exact : 0;
  const metadataBoost = reading.isInMetadata ? boosts.metadata : 0;
  const final = Math.fround(Math.min(1, base + phraseBoost + exactBoost + metadataBoost));
  return { final, base, raw, phraseBoost, exactBoost, metadataBoost };
}
