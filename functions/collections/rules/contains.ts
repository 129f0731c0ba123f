/** The engine finds texts up to this length in linear time. A longer one may take the product of both lengths, without a pause. */
const ENGINE_MAX = 200;

/** A text to find in others, in time that grows with the sum of both lengths, not with their product. */
export class SearchedText {
  readonly #text: string;
  readonly #head: string;
  /** For each prefix of a long text the length of its longest border. */
  readonly #borders: Int32Array | null;

  constructor(text: string) {
    this.#text = text;
    this.#head = text.slice(0, ENGINE_MAX);
    this.#borders = text.length > ENGINE_MAX ? bordersOf(text) : null;
  }

  isIn(value: string): boolean {
    if (this.#borders === null) return value.includes(this.#text);
    if (value.length < this.#text.length) return false;
    const from = value.indexOf(this.#head);
    return from >= 0 && this.#isBehind(value, from, this.#borders);
  }

  #isBehind(value: string, from: number, borders: Int32Array): boolean {
    const text = this.#text;
    for (let at = from, found = 0; at < value.length; at += 1) {
      const unit = value.charCodeAt(at);
      while (found > 0 && unit !== text.charCodeAt(found)) found = borders[found - 1] ?? 0;
      if (unit === text.charCodeAt(found)) found += 1;
      if (found === text.length) return true;
    }
    return false;
  }
}

function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (length > 0 && unit !== text.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (unit === text.charCodeAt(length)) length += 1;
    borders[at] = length;
  }
  return borders;
}
