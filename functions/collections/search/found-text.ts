/** For each prefix of the pattern, the length of the prefix to continue with after a mismatch. */
function restartsOf(pattern: string): Int32Array {
  const restarts = new Int32Array(pattern.length);
  for (let at = 1, matched = 0; at < pattern.length; at += 1) {
    while (matched > 0 && pattern[at] !== pattern[matched]) matched = restarts[matched - 1]!;
    if (pattern[at] === pattern[matched]) matched += 1;
    restarts[at] = matched;
  }
  return restarts;
}

/** Up to this length `indexOf` is faster on every text. */
const SHORT = 64;

/**
 * Finds a text in others, from the beginning of each to its end, in time that grows with the sum of both lengths: `indexOf` takes
 * their product if a long text repeats itself.
 */
export class FoundText {
  readonly text: string;
  #restarts: Int32Array | undefined;
  #other = '';
  /** The last found place; the other text is not searched beyond it yet. */
  #place = -1;
  #isAbsent = false;

  constructor(text: string) {
    this.text = text;
  }

  /** Begins another text. */
  begin(other: string): void {
    this.#other = other;
    this.#place = -1;
    this.#isAbsent = false;
  }

  /** Whether the other text does not hold it after the place of the first search. */
  get isAbsent(): boolean {
    return this.#isAbsent;
  }

  /** The first place of the text from `at` on; `Infinity` if there is none. `at` never decreases. */
  next(at: number): number {
    if (this.#place >= at) return this.#place;
    const isFirst = this.#place < 0;
    this.#place = this.#from(at);
    this.#isAbsent = isFirst && this.#place === Infinity;
    return this.#place;
  }

  #from(at: number): number {
    const { text } = this;
    const start = this.#other.indexOf(text.length <= SHORT ? text : text.slice(0, SHORT), at);
    if (start < 0) return Infinity;
    return text.length <= SHORT ? start : this.#longFrom(start);
  }

  #longFrom(start: number): number {
    const { text } = this;
    const other = this.#other;
    const restarts = (this.#restarts ??= restartsOf(text));
    for (let at = start, matched = 0; at < other.length; at += 1) {
      while (matched > 0 && other[at] !== text[matched]) matched = restarts[matched - 1]!;
      if (other[at] === text[matched]) matched += 1;
      if (matched === text.length) return at + 1 - text.length;
    }
    return Infinity;
  }
}
