/**
 * Finds texts within others, all of them in one pass (Aho and Corasick, 1975), whose time does not grow with their number. The
 * beginnings of the texts have numbers; 0 is the empty one, which begins all.
 */
export class TextFinder {
  readonly #texts: readonly string[];
  /** Numbers from 1 on of the UTF-16 units that the texts have. */
  readonly #units = new Map<number, number>();
  readonly #width: number;
  /** The beginning that is longer by one unit, by `width` times the beginning, and the number of the unit. */
  readonly #longer = new Map<number, number>();
  /** By beginning: the longest shorter one with which it ends. */
  readonly #restarts: number[] = [0];
  /** By beginning: the text that it is, or -1. */
  readonly #isText: number[] = [-1];
  /** By beginning: itself if it is a text, or the longest shorter text with which it ends, as a beginning; 0 where there is none. */
  readonly #endings: number[] = [0];
  readonly #isFound: Uint8Array;
  #at = 0;

  /** None of them is empty. */
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

  /** From now on each text is reported anew where it is found. */
  forget(): void {
    this.#isFound.fill(0);
  }

  /** Another text begins in which these are looked for. */
  begin(): void {
    this.#at = 0;
  }

  /**
   * Reads on, from one place of `other` to another one. Tells each text that is found for the first time since `forget`.
   * Returns whether any text ends between the places.
   */
  read(other: string, from: number, to: number, report: (text: string) => void): boolean {
    let isIn = false;
    for (let place = from; place < to; place += 1) {
      this.#at = this.#after(this.#at, this.#units.get(other.charCodeAt(place)));
      let ending = this.#endings[this.#at]!;
      if (ending > 0) isIn = true;
      // The shorter ones of a text that was found before were found with it.
      while (ending > 0 && this.#isFound[this.#isText[ending]!] === 0) {
        this.#isFound[this.#isText[ending]!] = 1;
        report(this.#texts[this.#isText[ending]!]!);
        ending = this.#endings[this.#restarts[ending]!]!;
      }
    }
    return isIn;
  }

  /** The length of the longest text that ends where reading has ended, if no longer beginning does; 0 otherwise. */
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

  /** Returns the beginnings by their lengths: of each its own number, that of one unit less, and its last unit. */
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

  /** The shorter beginnings come first, so that the restarts of each are known. */
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
