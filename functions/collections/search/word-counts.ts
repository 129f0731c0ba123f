import type { EntryWordCounts } from '../../store/search.ts';
import { USUAL_WORD_CODE } from '../../store/search.ts';
import { DEFAULT_FIELDS, fieldOf } from './fields.ts';
import type { Leaf } from './leaves.ts';
import { WORD_CHARACTERS_MAX, wordTerm } from './terms.ts';

/** A step of long work is so many words, or leaves: half a millisecond. */
const STEP_ITEMS = 1_024;
const selection = { fields: DEFAULT_FIELDS, fieldBoosts: new Map<string, number>() };

/** How often a term stands in the fields that searches look into by default, as a code. */
interface WordCount {
  readonly count: number;
  /** Whether it stands in metadata. */
  readonly isInMetadata: boolean;
}

/** Most words stand once in a record, and not in metadata: `USUAL_WORD_CODE`. */
function codeOf({ count, isInMetadata }: WordCount): number {
  return 2 * count + (isInMetadata ? 1 : 0);
}

export function countIn(code: number): number {
  return code >> 1;
}

export function isMetadataIn(code: number): boolean {
  return (code & 1) === 1;
}

/** Counts the words of all leaves, in steps. `leaves` are normal, `words` are theirs. */
export function* wordCountsOf(
  leaves: readonly Leaf[],
  words: readonly (readonly string[])[],
): Generator<void, EntryWordCounts> {
  // By the words themselves, whose hashes are known from the search for terms: those of new texts would be computed.
  const counted = new Map<string, number>();
  let length = 0;
  let items = 0;
  for (const [index, { path }] of leaves.entries()) {
    if ((items += 1) % STEP_ITEMS === 0) yield;
    const { isSelected, isMetadata } = fieldOf(path, selection);
    const found = words[index] ?? [];
    if (isSelected) length += found.length;
    const once = codeOf({ count: isSelected ? 1 : 0, isInMetadata: false });
    const beside = isSelected && isMetadata ? 1 : 0;
    for (const word of found) {
      if ((items += 1) % STEP_ITEMS === 0) yield;
      counted.set(word, ((counted.get(word) ?? 0) + once) | beside);
    }
  }
  return { length, codes: yield* codesOf(counted) };
}

/** Those of terms. Long words that are cut alike share one. */
function* codesOf(counted: ReadonlyMap<string, number>): Generator<void, ReadonlyMap<string, number>> {
  const codes = new Map<string, number>();
  let items = 0;
  for (const [word, code] of counted) {
    if ((items += 1) % STEP_ITEMS === 0) yield;
    if (code === USUAL_WORD_CODE && word.length <= WORD_CHARACTERS_MAX) continue;
    const term = wordTerm(word);
    const other = codes.get(term) ?? 0;
    codes.set(term, (other + (code & ~1)) | (code & 1));
  }
  return codes;
}
