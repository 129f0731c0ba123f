import { sortedInSteps } from '../../kernel/sorted-in-steps.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { LexicalQuery } from './lexical-query.ts';
import type { CandidateWalk } from './plan.ts';
import { type CandidateReading, LexiconReader } from './reader.ts';
import { type Corpus, corpusOf, type Score, scoresOf } from './scoring.ts';

/** The answer of a lexical search. */
export interface Ranking {
  readonly query: LexicalQuery;
  readonly source: CandidateWalk['source'];
  readonly corpus: Corpus;
  /** Whether the scan limit excluded candidates, or the end of the call's reads may have. */
  readonly isLimited: boolean;
  /** The best first, at most `top` of the query. */
  readonly matches: readonly RankedMatch[];
}

export interface RankedMatch {
  /** The store's id of the record. */
  readonly id: string;
  /** From 1 on. */
  readonly rank: number;
  /** A float32. */
  readonly score: number;
  readonly parts: Score;
  readonly reading: CandidateReading;
}

/** The candidates of one query in the order in which they were found. */
export class CandidatePool {
  readonly #query: LexicalQuery;
  readonly #source: CandidateWalk['source'];
  readonly #reader: LexiconReader;
  readonly #readings = new Map<string, CandidateReading>();
  #isLimited = false;

  constructor(query: LexicalQuery, source: CandidateWalk['source']) {
    this.#query = query;
    this.#source = source;
    this.#reader = new LexiconReader(query);
  }

  /** Whether the record is a candidate already. */
  has(id: string): boolean {
    return this.#readings.has(id);
  }

  get size(): number {
    return this.#readings.size;
  }

  /** Whether it has all candidates that the query scores. */
  get isFull(): boolean {
    return this.#readings.size >= this.#query.scanLimit;
  }

  /** Whether there are, or may be, more candidates than the query scores: then no further one changes the answer. */
  get isLimited(): boolean {
    return this.#isLimited;
  }

  /** Candidates until the pool is limited, at least 1: it takes one more than the query scores. */
  get missing(): number {
    return this.#query.scanLimit + 1 - this.#readings.size;
  }

  /** Reads a lexicon. `null`: the record is no candidate. `body`: only its text decides; call `readText`. */
  read(lexicon: string): CandidateReading | 'body' | null {
    return this.#reader.read(lexicon);
  }

  /** Reads the stored text of the record instead, in steps, because it may be long. */
  readText(orderKey: string, storedText: string): Generator<void, CandidateReading | null> {
    return this.#reader.readText(orderKey, storedText);
  }

  /** Adds a candidate that meets the other conditions of the query. Returns whether it is scored. */
  add(id: string, reading: CandidateReading): boolean {
    if (this.isFull) this.limit();
    if (!this.#isLimited) this.#readings.set(id, reading);
    return !this.#isLimited;
  }

  /** Marks a full pool as limited: there may be other candidates. */
  limit(): void {
    this.#isLimited = true;
  }

  /** Ranks by descending score, then in the order of the listing; in steps, because candidates may be many. */
  *rank(): Generator<void, Ranking> {
    const query = this.#query;
    const ids = [...this.#readings.keys()];
    const readings = [...this.#readings.values()];
    const corpus = yield* corpusOf(readings, query.terms.length);
    const scores = yield* scoresOf(readings, corpus, query);
    const scored = scores
      .map((parts, index) => ({ id: ids[index]!, score: parts.final, parts, reading: readings[index]! }))
      .filter((match) => isAnswered(match, query));
    yield;
    const sorted = yield* sortedInSteps(
      highest(scored, query.top),
      (a, b) => b.score - a.score || compareUtf8(a.reading.orderKey, b.reading.orderKey),
    );
    const matches = sorted.slice(0, query.top).map((match, index) => ({ ...match, rank: index + 1 }));
    return { query, source: this.#source, corpus, isLimited: this.#isLimited, matches };
  }
}

/** The candidates with one of the `count` highest scores: only these need to be sorted. */
function highest<Scored extends { readonly score: number }>(scored: Scored[], count: number): Scored[] {
  if (scored.length <= count) return scored;
  const scores = Float32Array.from(scored, ({ score }) => score).sort();
  const least = scores[scores.length - count]!;
  return scored.filter(({ score }) => score >= least);
}

export function isAnswered({ score, reading }: Omit<RankedMatch, 'rank'>, query: LexicalQuery): boolean {
  if (query.matchMode === 'all' && reading.isMatched.includes(0)) return false;
  return score > 0 && (query.minScore === null || score >= query.minScore);
}
