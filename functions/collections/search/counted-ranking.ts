import { sortedInSteps } from '../../kernel/sorted-in-steps.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { WordCounts } from '../../store/search.ts';
import { foundMax } from './candidate-order.ts';
import { hasCharacters } from './characters.ts';
import { DEFAULT_FIELDS } from './fields.ts';
import type { LexicalQuery } from './lexical-query.ts';
import { isAnswered, type Ranking } from './pool.ts';
import type { CandidateReading } from './reader.ts';
import { baseOf, type Corpus, corpusFrom, finalScore, highestOf, rawScoreOf, scoreOf } from './scoring.ts';
import { WORD_CHARACTERS_MAX } from './terms.ts';
import { countIn, isMetadataIn } from './word-counts.ts';
import { wordsOf } from './words.ts';

/** Candidates of one step, which takes less than a millisecond. */
const STEP_CANDIDATES = 1_024;
/** Codes of one step, which takes as long. */
const STEP_CODES = 65_536;
/** The score of candidates that the answer leaves out. */
const NO_SCORE = -1;

/** A candidate whose lexicon was read. */
export interface CountedReading {
  /** The store's id of the record. */
  readonly id: string;
  readonly reading: CandidateReading;
}

/**
 * Whether word counts suffice for a query apart from its phrases: they hold whole words in the fields that searches use by
 * default.
 */
export function isCountable(query: LexicalQuery): boolean {
  const { terms, looseTerms, phrases, requiredGroups, isPrefix, fields, fieldBoosts } = query;
  return (
    terms.length > 0 &&
    looseTerms.length === terms.length &&
    phrases.length === 0 &&
    requiredGroups.length === 0 &&
    fieldBoosts.size === 0 &&
    !isPrefix.includes(true) &&
    // A longer word shares its term with other words.
    !terms.some((term) => hasCharacters(term, WORD_CHARACTERS_MAX)) &&
    fields.length === DEFAULT_FIELDS.length &&
    fields.every((field) => DEFAULT_FIELDS.includes(field))
  );
}

/** The last word of a query's text: a record with the text has a word that begins with it. `null` if the text is one word. */
export function endOfText({ whole }: LexicalQuery): string | null {
  const words = wordsOf(whole);
  return words.length < 2 ? null : words.at(-1)!;
}

/** The most records of word counts that a query of any word takes. */
export function countedMax({ scanLimit }: LexicalQuery): number {
  return Math.max(scanLimit, foundMax(scanLimit) - 1);
}

/** The records that are scored, as indexes into word counts. */
export interface Chosen {
  readonly sure: readonly number[];
  /** Records of which only the first by their order keys are scored. */
  readonly last: readonly number[];
  readonly lastCount: number;
  /** How many records hold each term. */
  readonly held: readonly number[];
}

/**
 * Chooses the records that a query scores, in steps: those that hold the most of its words first, as `CandidateOrder` does. `null`:
 * more records match than the order of candidates considers.
 */
export function* chosenOf(
  query: LexicalQuery,
  { places, codes }: WordCounts,
): Generator<void, Chosen | null> {
  const { scanLimit, matchMode } = query;
  const most = countedMax(query);
  if (matchMode === 'any' && places.length > most) return null;
  const step = Math.ceil(STEP_CODES / codes.length);
  const byHeld: number[][] = codes.map(() => []);
  const held = codes.map(() => 0);
  let size = 0;
  for (let index = 0; index < places.length; index += 1) {
    if ((index + 1) % step === 0) yield;
    let terms = 0;
    for (let term = 0; term < codes.length; term += 1) {
      if (codes[term]![index]! < 0) continue;
      terms += 1;
      held[term]! += 1;
    }
    if (matchMode === 'all' && terms < codes.length) continue;
    // A query of all words: each candidate holds every term.
    byHeld[terms - 1]!.push(index);
    size += 1;
    if (size > most) return null;
  }
  const sure: number[] = [];
  for (const last of byHeld.reverse()) {
    const lastCount = scanLimit - sure.length;
    if (last.length > lastCount) return { sure, last, lastCount, held };
    for (const index of last) sure.push(index);
  }
  return { sure, last: [], lastCount: 0, held };
}

/**
 * Ranks candidates by their word counts. Counts decide a score except for the bonuses of a record that may hold the text of the
 * query. So only the lexicons of records that may be among the best are read. The answer is the same as with all lexicons.
 */
export class CountedRanking {
  readonly #query: LexicalQuery;
  readonly #counts: WordCounts;
  /** Indexes of the records that are candidates. */
  readonly #candidates: readonly number[];
  readonly #isLimited: boolean;
  /** The raw scores, in the order of the candidates. */
  #raws = new Float64Array();
  #highest = 0;
  #corpus: Corpus = { count: 0, averageLength: 0, idf: [] };

  /** `candidates` are those of `chosenOf`, including those chosen from its `last`; `isLimited`: there are others. */
  constructor(query: LexicalQuery, counts: WordCounts, candidates: readonly number[], isLimited: boolean) {
    this.#query = query;
    this.#counts = counts;
    this.#candidates = candidates;
    this.#isLimited = isLimited;
  }

  get size(): number {
    return this.#candidates.length;
  }

  /** The places of the records whose lexicons decide, in steps. */
  *places(): Generator<void, readonly number[]> {
    yield* this.#score();
    return yield* this.#reaching(null);
  }

  /**
   * As `places`, among `holders`: the records that hold a word that begins with `endOfText`. They are fewer, since no other record can
   * hold the text.
   */
  *placesAmong(holders: readonly number[]): Generator<void, readonly number[]> {
    return yield* this.#reaching(new Set(holders));
  }

  *#reaching(holders: ReadonlySet<number> | null): Generator<void, readonly number[]> {
    const { top, matchMode } = this.#query;
    const { codes, places } = this.#counts;
    const possible = new PossibleText(this.#query);
    const lowers = new Float32Array(this.size);
    const uppers = new Float32Array(this.size);
    let ranked = 0;
    for (let at = 0; at < this.size; at += 1) {
      if ((at + 1) % STEP_CANDIDATES === 0) yield;
      const index = this.#candidates[at]!;
      if (matchMode === 'all' && !codes.every((code) => countIn(code[index]!) > 0)) {
        lowers[at] = uppers[at] = NO_SCORE;
        continue;
      }
      const base = baseOf(this.#raws[at]!, this.#highest);
      const mayEnd = holders === null || holders.has(places[index]!);
      const { least, most } = possible.in(codes, index, mayEnd);
      lowers[at] = finalScore(base, least, this.#query);
      uppers[at] = most === least ? lowers[at]! : finalScore(base, most, this.#query);
      ranked += 1;
    }
    yield;
    const least = ranked <= top ? 0 : lowers.slice().sort()[lowers.length - top]!;
    const reaching: number[] = [];
    for (let at = 0; at < this.size; at += 1)
      if (uppers[at]! >= least) reaching.push(places[this.#candidates[at]!]!);
    return reaching;
  }

  /** `read` has a reading for each of `places`. */
  *rank(read: readonly CountedReading[]): Generator<void, Ranking> {
    const query = this.#query;
    const scored = read.map(({ id, reading }) => {
      const parts = scoreOf(rawScoreOf(reading, this.#corpus, query), this.#highest, reading, query);
      return { id, score: parts.final, parts, reading };
    });
    yield;
    const sorted = yield* sortedInSteps(
      scored.filter((match) => isAnswered(match, query)),
      (a, b) => b.score - a.score || compareUtf8(a.reading.orderKey, b.reading.orderKey),
    );
    const matches = sorted.slice(0, query.top).map((match, index) => ({ ...match, rank: index + 1 }));
    return { query, source: 'inverted_index', corpus: this.#corpus, isLimited: this.#isLimited, matches };
  }

  *#score(): Generator<void, void> {
    const { lengths, codes } = this.#counts;
    const holding = new Uint32Array(codes.length);
    let length = 0;
    for (let at = 0; at < this.size; at += 1) {
      const index = this.#candidates[at]!;
      length += lengths[index]!;
      for (let term = 0; term < codes.length; term += 1)
        if (countIn(codes[term]![index]!) > 0) holding[term]! += 1;
      if ((at + 1) % STEP_CANDIDATES === 0) yield;
    }
    this.#corpus = corpusFrom(this.size, length, holding);
    this.#raws = new Float64Array(this.size);
    const reading = { length: 0, hits: 0, weights: codes.map(() => 0), isMatched: codes.map(() => 0) };
    for (let at = 0; at < this.size; at += 1) {
      const index = this.#candidates[at]!;
      reading.length = lengths[index]!;
      reading.hits = 0;
      for (let term = 0; term < codes.length; term += 1) {
        const count = Math.max(0, countIn(codes[term]![index]!));
        reading.weights[term] = count;
        reading.isMatched[term] = count > 0 ? 1 : 0;
        reading.hits += count;
      }
      this.#raws[at] = rawScoreOf(reading, this.#corpus, this.#query);
      if ((at + 1) % STEP_CANDIDATES === 0) yield;
    }
    this.#highest = highestOf(this.#raws, this.#query);
  }
}

/** Parts of a score that word counts do not decide. */
type Beside = Pick<CandidateReading, 'isExact' | 'isInMetadata'> & { readonly hasPhrase: boolean };

/** Decides from the words of a record where it may hold the whole text of a query. */
class PossibleText {
  /** Places of the inner words of the text. Only the first and the last word may be parts of longer words in a record. */
  readonly #inner: readonly number[];
  /** Whether the text is one word: then it is where the word is. */
  readonly #isWord: boolean;

  constructor({ whole, terms }: LexicalQuery) {
    const inner = wordsOf(whole).slice(1, -1);
    this.#inner = [...new Set(inner)].map((word) => terms.indexOf(word)).filter((place) => place >= 0);
    this.#isWord = terms.length === 1 && whole === terms[0];
  }

  /** The least and the greatest parts of a record; equal if its words decide them. `mayEnd`: it may hold the end of the text. */
  in(
    codes: readonly Int32Array[],
    index: number,
    mayEnd: boolean,
  ): { readonly least: Beside; readonly most: Beside } {
    let isInMetadata = false;
    let isAll = true;
    for (const code of codes) {
      const each = code[index]!;
      if (each < 0 || countIn(each) === 0) isAll = false;
      else if (isMetadataIn(each)) isInMetadata = true;
    }
    const least = besides[isInMetadata ? 1 : 0][this.#isWord && isAll ? 1 : 0];
    if (!mayEnd) return { least, most: least };
    for (const place of this.#inner) if (countIn(codes[place]![index]!) <= 0) return { least, most: least };
    // A leaf of metadata may also hold the text as a part of longer words.
    return { least, most: isAll ? MOST_OF_ALL : MOST };
  }
}

const none: Beside = { hasPhrase: false, isExact: false, isInMetadata: false };
const MOST: Beside = { hasPhrase: true, isExact: false, isInMetadata: true };
/** The parts if a whole leaf may equal the text. */
const MOST_OF_ALL: Beside = { ...MOST, isExact: true };
/** Indexed by whether a word is in metadata, then by whether the text is surely found. */
const besides = [
  [none, { ...none, hasPhrase: true }],
  [{ ...none, isInMetadata: true }, MOST],
] as const;
