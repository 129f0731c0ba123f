import { limits } from '../../../contracts/generated/limits.ts';
import { cutToCharacters, hasCharacters, leadingCharacters } from './characters.ts';

/** Terms of one record, at the most. */
export const TERMS_MAX: number = limits.searchTermsPerRecordMax;
/** All terms of one record in UTF-8, each with a byte for its end. */
export const TERM_BYTES_MAX: number = limits.searchTermBytesPerRecordMax;
/** Begins the terms of whole words; those of prefixes begin with their length. */
const WHOLE = 't';
/** Terms of records of which no index holds all whole words, or all prefixes. No word and no prefix has such a term. */
const MORE_WORDS = 'morewords';
const MORE_PREFIXES = 'moreprefixes';
const MORE = [MORE_WORDS, MORE_PREFIXES] as const;
const WORD_CHARACTERS_MAX = 40;
const SHORT_PREFIX = 3;
const LONG_PREFIX = 5;

export interface RecordTerms {
  /** Where some are left out, the last one or two say so: `moreTerm`. */
  readonly terms: readonly string[];
  /** How many terms the record has beyond these. */
  readonly leftOut: number;
}

/** The term of all records that hold the word. Words that are equal in their first 40 characters share it. */
export function wordTerm(word: string): string {
  return `${WHOLE}${cutToCharacters(word, WORD_CHARACTERS_MAX)}`;
}

/** The term of all records that hold a word with this prefix, and perhaps of more; `null`: no term serves so short a prefix. */
export function prefixTerm(prefix: string): string | null {
  if (hasCharacters(prefix, LONG_PREFIX)) return `5${cutToCharacters(prefix, LONG_PREFIX)}`;
  return hasCharacters(prefix, SHORT_PREFIX) ? `3${cutToCharacters(prefix, SHORT_PREFIX)}` : null;
}

/** The term of all records that may lack one of these terms in the index. */
export function moreTerm(terms: readonly string[]): string {
  return terms.every((term) => term.startsWith(WHOLE)) ? MORE_WORDS : MORE_PREFIXES;
}

/**
 * The terms by which indexes find a record, from the words of its leaves. Where there are too many, whole words stay before
 * prefixes and short leaves before long ones: ids, titles and labels say more of a record than the end of a long text.
 */
export function termsOf(
  leaves: readonly (readonly string[])[],
  bytesMax = TERM_BYTES_MAX,
  termsMax = TERMS_MAX,
): RecordTerms {
  const terms: string[] = [];
  const wholes = new Set<string>();
  const shorts = new Set<string>();
  const longs = new Set<string>();
  for (const leaf of [...leaves].sort((a, b) => a.length - b.length)) {
    for (const word of leaf) {
      const whole = cutToCharacters(word, WORD_CHARACTERS_MAX);
      // Words that are cut to the same text begin alike.
      if (!addNew(wholes, whole)) continue;
      terms.push(`${WHOLE}${whole}`);
      const long = leadingCharacters(word, LONG_PREFIX);
      if (long !== null && !addNew(longs, `${LONG_PREFIX}${long}`)) continue;
      const short = leadingCharacters(word, SHORT_PREFIX);
      if (short !== null) shorts.add(`${SHORT_PREFIX}${short}`);
    }
  }
  const all = [...terms, ...shorts, ...longs];
  const most = Math.min(bytesMax, TERM_BYTES_MAX);
  if (all.length <= termsMax && (mostBytes(all) <= most || termBytes(all) <= most))
    return { terms: all, leftOut: 0 };
  const kept = leading(all, most - termBytes(MORE), termsMax - MORE.length);
  const more = kept.length < terms.length ? MORE : [MORE_PREFIXES];
  return { terms: [...kept, ...more], leftOut: all.length - kept.length };
}

function addNew(texts: Set<string>, text: string): boolean {
  const before = texts.size;
  texts.add(text);
  return texts.size > before;
}

function leading(terms: readonly string[], bytesMax: number, termsMax: number): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const term of terms) {
    bytes += termBytes([term]);
    if (kept.length === termsMax || bytes > bytesMax) break;
    kept.push(term);
  }
  return kept;
}

/** A bound of what terms take, without encoding them: no UTF-16 unit takes more than three bytes. */
function mostBytes(terms: readonly string[]): number {
  let units = 0;
  for (const term of terms) units += term.length;
  return 3 * units + terms.length;
}

/** What terms take of a stored record: UTF-8, and a byte each for the end. They are well-formed. */
export function termBytes(terms: readonly string[]): number {
  let bytes = terms.length;
  for (const term of terms) {
    for (let at = 0; at < term.length; at += 1) bytes += unitBytes(term.charCodeAt(at));
  }
  return bytes;
}

/** Half a character beyond U+FFFF takes two of its four bytes. */
function unitBytes(unit: number): number {
  if (unit < 0x80) return 1;
  const isHalf = unit >= 0xd800 && unit < 0xe000;
  return unit < 0x800 || isHalf ? 2 : 3;
}
