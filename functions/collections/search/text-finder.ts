/**
 * Finds many texts in others, in one pass (Aho and Corasick, 1975) whose time does not grow with their number. Each beginning of a
 * text has a number; 0 is the empty beginning.
 */
export class TextFinder {
  readonly #texts: readonly string[];
  /** The UTF-16 units of the texts, numbered from 1. */
  readonly #units = new Map<number, number>();
  readonly #width: number;
  /** The beginning that is longer by one unit. The key is `width` times the beginning, plus the number of the unit. */
  readonly #longer = new Map<number, number>();
  /** By beginning: the longest shorter beginning that is its suffix. */
  readonly #restarts: number[] = [0];
  /** By beginning: the text that it equals, or -1. */
  readonly #isText: number[] = [-1];
  /** By beginning: itself if it is a text, else the longest text that is its suffix, as a beginning; 0 if there is none. */
  readonly #endings: number[] = [0];
  readonly #isFound: Uint8Array;
  #at = 0;

  /** None of `texts` may be empty. */
  constructor(texts: readonly string[]) {
    this.#texts = texts;
    for (const text of texts) {
      for (let at = 0; at < text.length; at += 1) {
        const unit = text.charCodeAt(at);
        if (!this.#units.has(unit)) this.#units.set(unit, this.#units.size + 1);
      }
    }
    this.#width = this.#units.size + 1;
    this.#link(this.#add());
    this.#isFound = new Uint8Array(texts.length);
  }

  /** Makes each text be reported again when it is next found. */
  forget(): void {
    this.#isFound.fill(0);
  }

  /** Begins another text to search. */
  begin(): void {
    this.#at = 0;
  }

  /**
   * Reads `other` from one place to another, and reports each text that is found for the first time since `forget`. Returns whether
   * any text ends between the places.
   */
  read(other: string, from: number, to: number, report: (text: string) => void): boolean {
    let isIn = false;
    for (let place = from; place < to; place += 1) {
      this.#at = this.#after(this.#at, this.#units.get(other.charCodeAt(place)));
      let ending = this.#endings[this.#at]!;
      if (ending > 0) isIn = true;
      // If a text was found before, so were the shorter texts at its end.
      while (ending > 0 && this.#isFound[this.#isText[ending]!] === 0) {
        this.#isFound[this.#isText[ending]!] = 1;
        report(this.#texts[this.#isText[ending]!]!);
        ending = this.#endings[this.#restarts[ending]!]!;
      }
    }
    return isIn;
  }

  /** The length of the longest text at the end of the read part, if no longer beginning ends there; else 0. */
  get ends(): number {
    return this.#texts[this.#isText[this.#at]!]?.length ?? 0;
  }

  #after(beginning: number, unit: number | undefined): number {
    if (unit === undefined) return 0;
    for (let at = beginning; ; at = this.#restarts[at]!) {
      const longer = this.#longer.get(at * this.#width + unit);
      if (longer !== undefined) return longer;
      if (at === 0) return 0;
    }
  }

  /** Returns the beginnings by length: for each its number, that of the beginning without its last unit, and that unit. */
  #add(): readonly (readonly [number, number, number])[][] {
    const byLength: [number, number, number][][] = [];
    for (const [index, text] of this.#texts.entries()) {
      let at = 0;
      for (let place = 0; place < text.length; place += 1) {
        const unit = this.#units.get(text.charCodeAt(place))!;
        const key = at * this.#width + unit;
        const known = this.#longer.get(key);
        const next = known ?? this.#isText.push(-1) - 1;
        if (known === undefined) {
          this.#longer.set(key, next);
          (byLength[place] ??= []).push([next, at, unit]);
        }
        at = next;
      }
      this.#isText[at] = index;
    }
    return byLength;
  }

  /** Links shorter beginnings first, so that the restarts of each are known. */
  #link(byLength: readonly (readonly [number, number, number])[][]): void {
    for (const [length, beginnings] of byLength.entries()) {
      for (const [beginning, shorter, unit] of beginnings) {
        const restart = length === 0 ? 0 : this.#after(this.#restarts[shorter]!, unit);
        this.#restarts[beginning] = restart;
        this.#endings[beginning] = this.#isText[beginning]! >= 0 ? beginning : this.#endings[restart]!;
      }
    }
  }
}
