import type { Field } from './fields.ts';

/** 1 for yes, 0 for no. */
export type Flags = readonly number[];

/** The most matched paths that an answer names: all paths of a record may be far longer than the record. */
const PATHS_MAX = 100;
/** The longest path that an answer names, in UTF-16 units. */
export const PATH_CHARACTERS_MAX = 1_024;

/** The counts of one record, and of its current leaf. */
export class TermCounts {
  /** For each term, the words of the current leaf that equal it. */
  readonly #exact: number[];
  /** For each term, the longer words of the current leaf that begin with it. */
  readonly #longer: number[];
  /** The terms of the current leaf. */
  readonly #touched: number[] = [];
  /** For each term the sum of its frequencies in the selected fields, each times the boost of its field. */
  readonly weights: number[];
  /** For each term, whether the record holds it, also in leaves that are not selected. */
  readonly isPresent: number[];
  readonly isMatched: number[];
  readonly isPrefixed: number[];
  /** The paths of the first selected fields with a term, a phrase or the whole query. */
  readonly paths: string[] = [];
  /** The highest boost of all such fields; `isInMetadata` tells whether one of them is metadata. */
  fieldBoost = 0;
  isInMetadata = false;
  /** The phrases, and the whole query, that were found in selected fields. */
  readonly texts: string[] = [];
  length = 0;
  /** The occurrences of all terms together in the selected fields. */
  hits = 0;
  isExact = false;

  /** `none` has a zero for each term of the query. */
  constructor(none: readonly number[]) {
    this.#exact = none.slice();
    this.#longer = none.slice();
    this.weights = none.slice();
    this.isPresent = none.slice();
    this.isMatched = none.slice();
    this.isPrefixed = none.slice();
  }

  addWord(term: number, isLonger: boolean): void {
    if (this.#exact[term] === 0 && this.#longer[term] === 0) this.#touched.push(term);
    if (isLonger) this.#longer[term]! += 1;
    else this.#exact[term]! += 1;
  }

  addText(text: string): void {
    if (!this.texts.includes(text)) this.texts.push(text);
  }

  /** Adds the current leaf, which has `words` words. `field` is its field if selected; `isFound`: it holds a sought text. */
  addLeaf(field: Field, words: number, isFound: boolean): void {
    this.length += words;
    for (const term of this.#touched) {
      const exact = this.#exact[term]!;
      const found = exact > 0 ? exact : this.#longer[term]!;
      this.hits += found;
      this.weights[term]! += found * field.boost;
      this.isMatched[term] = 1;
      if (exact === 0) this.isPrefixed[term] = 1;
    }
    if (isFound || this.#touched.length > 0) this.#addField(field);
  }

  #addField({ path, boost, isMetadata }: Field): void {
    this.fieldBoost = Math.max(this.fieldBoost, boost);
    this.isInMetadata ||= isMetadata;
    if (this.paths.length === PATHS_MAX || path.length > PATH_CHARACTERS_MAX) return;
    if (!this.paths.includes(path)) this.paths.push(path);
  }

  endLeaf(): void {
    if (this.#touched.length === 0) return;
    for (const term of this.#touched) {
      this.isPresent[term] = 1;
      this.#exact[term] = 0;
      this.#longer[term] = 0;
    }
    this.#touched.length = 0;
  }
}
