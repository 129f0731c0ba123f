import type { EntryWordCounts } from '../../store/search.ts';
import { USUAL_WORD_CODE } from '../../store/search.ts';
import { DEFAULT_FIELDS, fieldOf } from './fields.ts';
import type { Leaf } from './leaves.ts';
import { WORD_CHARACTERS_MAX, wordTerm } from './terms.ts';

/** Words or leaves of one step of long work: half a millisecond. */
const STEP_ITEMS = 1_024;
const selection = { fields: DEFAULT_FIELDS, fieldBoosts: new Map<string, number>() };

/** The occurrences of a term in the fields that searches use by default. */
interface WordCount {
  readonly count: number;
  /** Whether metadata holds it. */
  readonly isInMetadata: boolean;
}

/** The code of a count. Most words occur once in a record, outside metadata: `USUAL_WORD_CODE`. */
function codeOf({ count, isInMetadata }: WordCount): number {
  return 2 * count + (isInMetadata ? 1 : 0);
}

export function countIn(code: number): number {
  return code >> 1;
}

export function isMetadataIn(code: number): boolean {
  return (code & 1) === 1;
}

/** Counts the words of all leaves, in steps. `leaves` are normal, `words` holds their words. */
export function* wordCountsOf(
  leaves: readonly Leaf[],
  words: readonly (readonly string[])[],
): Generator<void, EntryWordCounts> {
  // Count by the word strings: their hashes are cached since the making of terms, while new strings would be hashed again.
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

/** The codes by term. Long words with the same cut form share a term. */
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
