import { mappedInSteps } from '../../kernel/sorted-in-steps.ts';
import type { Flags } from './counts.ts';
import type { LexicalQuery } from './lexical-query.ts';
import type { CandidateReading } from './reader.ts';

/** Readings of one step, which takes less than a millisecond also with the most terms. */
const STEP_READINGS = 128;

/** Statistics of all candidates of a query. Scores compare candidates with each other, not with the collection. */
export interface Corpus {
  readonly count: number;
  /** The average number of words in the selected fields. */
  readonly averageLength: number;
  /** The inverse document frequency of each term among the candidates. */
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

/** The corpus of the readings, made in steps, as scores are. */
export function* corpusOf(readings: readonly CandidateReading[], terms: number): Generator<void, Corpus> {
  const count = readings.length;
  const holding = new Uint32Array(terms);
  let length = 0;
  for (const [place, reading] of readings.entries()) {
    length += reading.length;
    for (const [term, isMatched] of reading.isMatched.entries()) holding[term]! += isMatched;
    if ((place + 1) % STEP_READINGS === 0) yield;
  }
  return corpusFrom(count, length, holding);
}

/** `holding`: for each term, the number of candidates that hold it. */
export function corpusFrom(count: number, length: number, holding: ArrayLike<number>): Corpus {
  const idf = Array.from(holding, (held) => Math.log(1 + (count - held + 0.5) / (held + 0.5)));
  return { count, averageLength: count === 0 ? 0 : length / count, idf };
}

/** Scores in the order of the readings. Sums add the terms in order, so that every provider gives the same digits. */
export function* scoresOf(
  readings: readonly CandidateReading[],
  corpus: Corpus,
  query: LexicalQuery,
): Generator<void, readonly Score[]> {
  const raws = yield* mappedInSteps(readings, (reading) => rawScoreOf(reading, corpus, query), STEP_READINGS);
  const highest = highestOf(raws, query);
  const scored = readings.map((reading, index) => ({ reading, raw: raws[index]! }));
  return yield* mappedInSteps(
    scored,
    ({ reading, raw }) => scoreOf(raw, highest, reading, query),
    STEP_READINGS,
  );
}

/** The score of a candidate before it is compared with the best one. */
export function rawScoreOf(
  reading: Pick<CandidateReading, 'length' | 'weights' | 'hits' | 'isMatched'>,
  corpus: Corpus,
  query: LexicalQuery,
): number {
  return query.scoring === 'bm25' ? bm25(reading, corpus, query) : coverage(reading);
}

/** The raw score by which all others are divided. */
export function highestOf(raws: Iterable<number>, { scoring }: LexicalQuery): number {
  if (scoring !== 'bm25') return 1;
  let highest = 0;
  for (const raw of raws) highest = Math.max(highest, raw);
  return highest;
}

/** The part of each term in the raw score of a candidate; empty if the scoring does not add up terms. */
export function termScoresOf(
  reading: CandidateReading,
  corpus: Corpus,
  query: LexicalQuery,
): readonly number[] {
  if (query.scoring !== 'bm25') return [];
  const norm = normOf(reading, corpus, query);
  return corpus.idf.map((rarity, term) => termScore(reading.weights[term]!, rarity, query.k1, norm));
}

function bm25(
  reading: Pick<CandidateReading, 'length' | 'weights'>,
  corpus: Corpus,
  query: LexicalQuery,
): number {
  const norm = normOf(reading, corpus, query);
  const { weights } = reading;
  let raw = 0;
  for (let term = 0; term < weights.length; term += 1) {
    raw += termScore(weights[term]!, corpus.idf[term]!, query.k1, norm);
  }
  return raw;
}

function normOf(
  { length }: Pick<CandidateReading, 'length'>,
  { averageLength }: Corpus,
  { k1, b }: LexicalQuery,
): number {
  return k1 * (1 - b + (b * Math.max(1, length)) / Math.max(1, averageLength));
}

function termScore(weight: number, rarity: number, k1: number, norm: number): number {
  return weight === 0 ? 0 : (rarity * (weight * (k1 + 1))) / (weight + norm);
}

function coverage({ hits, isMatched }: Pick<CandidateReading, 'hits' | 'isMatched'>): number {
  const terms = isMatched.length;
  if (terms === 0) return 0;
  const raw = 0.8 * (matchedTerms(isMatched) / terms) + 0.2 * Math.min(1, hits / terms);
  return Math.min(1, Math.max(0, raw));
}

export function matchedTerms(isMatched: Flags): number {
  return isMatched.reduce((sum, each) => sum + each, 0);
}

/** The frequencies of all terms together, as the scoring counts them: only bm25 applies the boosts of fields. */
export function termFrequency({ weights, hits }: CandidateReading, { scoring }: LexicalQuery): number {
  return scoring === 'bm25' ? weights.reduce((sum, each) => sum + each, 0) : hits;
}

/** `highest` is that of all candidates. */
export function scoreOf(raw: number, highest: number, reading: CandidateReading, query: LexicalQuery): Score {
  const { boosts } = query;
  const { isExact, isInMetadata } = reading;
  const hasPhrase = reading.phrases.length > 0;
  const base = baseOf(raw, highest);
  const phraseBoost = hasPhrase ? boosts.phrase : 0;
  const exactBoost = isExact ? boosts.exact : 0;
  const metadataBoost = isInMetadata ? boosts.metadata : 0;
  const final = finalScore(base, { hasPhrase, isExact, isInMetadata }, query);
  return { final, base, raw, phraseBoost, exactBoost, metadataBoost };
}

/** The raw score as a part of the highest one. */
export function baseOf(raw: number, highest: number): number {
  return Math.fround(highest === 0 ? 0 : raw / highest);
}

/** The base score with its boosts. */
export function finalScore(
  base: number,
  {
    hasPhrase,
    isExact,
    isInMetadata,
  }: Pick<CandidateReading, 'isExact' | 'isInMetadata'> & { readonly hasPhrase: boolean },
  { boosts }: Pick<LexicalQuery, 'boosts'>,
): number {
  const { phrase, exact, metadata } = boosts;
  return Math.fround(
    Math.min(1, base + (hasPhrase ? phrase : 0) + (isExact ? exact : 0) + (isInMetadata ? metadata : 0)),
  );
}
