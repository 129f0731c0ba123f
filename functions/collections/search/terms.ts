import { limits } from '../../../contracts/generated/limits.ts';
import { cutToCharacters, hasCharacters, leadingCharacters } from './characters.ts';

/** The most terms of one record. */
export const TERMS_MAX: number = limits.searchTermsPerRecordMax;
/** The most bytes of all terms of one record, in UTF-8 with a byte for the end of each. */
export const TERM_BYTES_MAX: number = limits.searchTermBytesPerRecordMax;
/** The first character of terms of whole words; those of prefixes begin with their length. */
const WHOLE = 't';
/** Terms of records whose whole words, or whose prefixes, are not all in the index. No word or prefix has such a term. */
const MORE_WORDS = 'morewords';
const MORE_PREFIXES = 'moreprefixes';
const MORE = [MORE_WORDS, MORE_PREFIXES] as const;
/** A longer word is cut to this number of characters. */
export const WORD_CHARACTERS_MAX = 40;
const SHORT_PREFIX = 3;
const LONG_PREFIX = 5;
/** Words or leaves of one step of long work: half a millisecond. */
const STEP_ITEMS = 1_024;

export interface RecordTerms {
  /** If some are left out, the last one or two are those of `moreTerm`. */
  readonly terms: readonly string[];
  /** The number of terms that were left out. */
  readonly leftOut: number;
}

/** The term of all records that hold the word. Words that are equal in their first 40 characters share it. */
export function wordTerm(word: string): string {
  return `${WHOLE}${cutToCharacters(word, WORD_CHARACTERS_MAX)}`;
}

/** A term of all records that hold a word with this prefix, and perhaps of others; `null` if the prefix is too short. */
export function prefixTerm(prefix: string): string | null {
  if (hasCharacters(prefix, LONG_PREFIX)) return `5${cutToCharacters(prefix, LONG_PREFIX)}`;
  return hasCharacters(prefix, SHORT_PREFIX) ? `3${cutToCharacters(prefix, SHORT_PREFIX)}` : null;
}

/** The term of all records that may lack one of these terms in the index. */
export function moreTerm(terms: readonly string[]): string {
  return terms.every((term) => term.startsWith(WHOLE)) ? MORE_WORDS : MORE_PREFIXES;
}

/**
 * The terms by which indexes find a record, from the words of its leaves; in steps, because a record may have some hundred thousand
 * words. If there are too many, whole words are kept before prefixes, and short leaves before long ones: ids, titles and labels
 * describe a record better than the end of a long text.
 */
export function* termsOf(
  leaves: readonly (readonly string[])[],
  bytesMax = TERM_BYTES_MAX,
  termsMax = TERMS_MAX,
): Generator<void, RecordTerms> {
  const terms: string[] = [];
  const wholes = new Set<string>();
  const shorts = new Set<string>();
  const longs = new Set<string>();
  let items = 0;
  for (const leaf of yield* shortFirst(leaves)) {
    if (isStep((items += 1))) yield;
    for (const word of leaf) {
      if (isStep((items += 1))) yield;
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
  const count = terms.length + shorts.size + longs.size;
  const most = Math.min(bytesMax, TERM_BYTES_MAX);
  if (count <= termsMax) {
    const all = [...terms, ...shorts, ...longs];
    if (mostBytes(all) <= most || termBytes(all) <= most) return { terms: all, leftOut: 0 };
  }
  // Iterate: a joined list would copy all of them to take the first few.
  const kept = leading(eachOf([terms, shorts, longs]), most - termBytes(MORE), termsMax - MORE.length);
  const more = kept.length < terms.length ? MORE : [MORE_PREFIXES];
  return { terms: [...kept, ...more], leftOut: count - kept.length };
}

/** The leaves by ascending number of words; leaves with equal numbers keep their order. */
function* shortFirst(leaves: readonly (readonly string[])[]): Generator<void, Iterable<readonly string[]>> {
  const byLength = new Map<number, (readonly string[])[]>();
  for (const [index, leaf] of leaves.entries()) {
    if (isStep(index + 1)) yield;
    const others = byLength.get(leaf.length);
    if (others === undefined) byLength.set(leaf.length, [leaf]);
    else others.push(leaf);
  }
  const lengths = [...byLength.keys()].sort((a, b) => a - b);
  return eachOf(lengths.map((length) => byLength.get(length) ?? []));
}

function* eachOf<Item>(lists: readonly Iterable<Item>[]): Generator<Item, void> {
  for (const list of lists) yield* list;
}

function isStep(items: number): boolean {
  return items % STEP_ITEMS === 0;
}

function addNew(texts: Set<string>, text: string): boolean {
  const before = texts.size;
  texts.add(text);
  return texts.size > before;
}

function leading(terms: Iterable<string>, bytesMax: number, termsMax: number): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const term of terms) {
    bytes += termBytes([term]);
    if (kept.length === termsMax || bytes > bytesMax) break;
    kept.push(term);
  }
  return kept;
}

/** An upper bound of the bytes of terms, without encoding them: no UTF-16 unit takes more than three bytes. */
function mostBytes(terms: readonly string[]): number {
  let units = 0;
  for (const term of terms) units += term.length;
  return 3 * units + terms.length;
}

/** The bytes of well-formed terms in a stored record: UTF-8, and a byte for the end of each. */
export function termBytes(terms: readonly string[]): number {
  let bytes = terms.length;
  for (const term of terms) {
    for (let at = 0; at < term.length; at += 1) bytes += unitBytes(term.charCodeAt(at));
  }
  return bytes;
}

/** The UTF-8 bytes of a UTF-16 unit; a surrogate counts as half of the four bytes. */
function unitBytes(unit: number): number {
  if (unit < 0x80) return 1;
  const isHalf = unit >= 0xd800 && unit < 0xe000;
  return unit < 0x800 || isHalf ? 2 : 3;
}
