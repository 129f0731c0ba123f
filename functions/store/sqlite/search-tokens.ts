import type { EntryWordCounts } from '../search.ts';

/** Ends the term of a code. No term holds it, and the tokenizer does not divide at it. */
const CODE_MARK = '·';
/** The first character behind the mark. */
const BEHIND_MARK = '¸';

/** A term as the index keeps it. The letter ends the number, so that no other group's term reads the same. */
export function tokenOf(group: number, term: string): string {
  return `${group}g${term}`;
}

/** The text of an entry for the index. A separator that ends with the number makes a text of each term unnecessary. */
export function tokensOf(
  group: number,
  terms: readonly string[],
  counts: EntryWordCounts | undefined,
): string {
  if (terms.length === 0) return '';
  let tokens = tokenOf(group, terms.join(` ${tokenOf(group, '')}`));
  for (const [term, code] of counts?.codes ?? []) tokens += ` ${codeTokenOf(group, term)}${code}`;
  return tokens;
}

/** The token of the records that hold a term with a code, without the code. */
function codeTokenOf(group: number, term: string): string {
  return `${group}h${term}${CODE_MARK}`;
}

/** All codes of a term sort from the first token on and before the second. */
export function codeTokens(group: number, term: string): readonly [string, string] {
  return [codeTokenOf(group, term), `${group}h${term}${BEHIND_MARK}`];
}

export function codeIn(token: string): number {
  return Number(token.slice(token.lastIndexOf(CODE_MARK) + 1));
}
