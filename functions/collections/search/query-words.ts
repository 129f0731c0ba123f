import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { hasCharacters } from './characters.ts';
import { normalText, wordsOf } from './words.ts';

/**
 * The most words and phrases of one query: each is counted and scored separately.
 * @testonly
 */
export const QUERY_WORDS_MAX = limits.searchQueryWordsMax;

export const stopWords: ReadonlySet<string> = new Set(
  'a an and are as at be by for from in is it of on or that the to with'.split(' '),
);

/** Adjacent words in one leaf. */
interface Phrase {
  /** The normal text. */
  readonly text: string;
  readonly words: readonly string[];
}

/** The words and phrases of a query's text. */
export interface QueryWords {
  /** Different words by which records are scored, in the order of the query. */
  readonly terms: readonly string[];
  /** The terms outside the quoted phrases. */
  readonly looseTerms: readonly string[];
  /** Distinct quoted phrases, in the order of the query. A phrase without words is found only as text. */
  readonly phrases: readonly Phrase[];
  /** The normal text of the whole query, without its quotes. */
  readonly whole: string;
}

/** Reads the text of a query. A quote without its partner is white space. Throws `limit_exceeded` naming `pointer`. */
export function readQueryWords(query: string, pointer: string): QueryWords {
  const parts = normalText(query).split('"');
  // Every second part follows an opening quote; the last part has no closing one.
  const isQuoted = (index: number) => index % 2 === 1 && index < parts.length - 1;
  const phrases = distinctPhrases(parts.filter((_, index) => isQuoted(index)));
  const words = new Set(parts.flatMap(wordsOf));
  const significant = [...words].filter((word) => hasCharacters(word, 2) && !stopWords.has(word));
  const terms = significant.length > 0 ? significant : [...words];
  if (terms.length + phrases.length > QUERY_WORDS_MAX) {
    const detail = `must have at most ${QUERY_WORDS_MAX} different words and quoted phrases`;
    throw invalidMember(pointer, detail, 'limit_exceeded');
  }
  const loose = new Set(parts.filter((_, index) => !isQuoted(index)).flatMap(wordsOf));
  const looseTerms = terms.filter((term) => loose.has(term));
  return { terms, looseTerms, phrases, whole: normalText(parts.join(' ')) };
}

function distinctPhrases(texts: readonly string[]): readonly Phrase[] {
  const trimmed = new Set(texts.map((text) => text.trim()).filter((text) => text !== ''));
  return [...trimmed].map((text) => ({ text, words: wordsOf(text) }));
}
