/** For each beginning of the pattern, how much of it is a beginning again where the next place does not match. */
function restartsOf(pattern: string): Int32Array {
  const restarts = new Int32Array(pattern.length);
  for (let at = 1, matched = 0; at < pattern.length; at += 1) {
    while (matched > 0 && pattern[at] !== pattern[matched]) matched = restarts[matched - 1]!;
    if (pattern[at] === pattern[matched]) matched += 1;
    restarts[at] = matched;
  }
  return restarts;
}

/** Up to this length the search of the engine is faster on every text. */
const SHORT = 64;

/**
 * A text that is looked for in others, from the beginning of each to its end, in time that grows with both lengths: the search of
 * the engine takes their product where a long text repeats itself.
 */
export class FoundText {
  readonly text: string;
  #restarts: Int32Array | undefined;
  #other = '';
  /** The last place that was found; from it on the other text is not searched yet. */
  #place = -1;
  #isAbsent = false;

  constructor(text: string) {
    this.text = text;
  }

  /** Another text begins. */
  begin(other: string): void {
    this.#other = other;
    this.#place = -1;
    this.#isAbsent = false;
  }

  /** Whether it stands nowhere behind the place from which it was looked for first. */
  get isAbsent(): boolean {
    return this.#isAbsent;
  }

  /** The first place from `at` on where the text stands, `Infinity` where there is none. `at` never goes back. */
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
