import { pointerTo } from '../../kernel/errors.ts';

/** A scalar of a record, as a text. */
export interface Leaf {
  /** The JSON Pointer of the leaf. */
  readonly path: string;
  /** A string as it is, a number as it is written, `True` or `False`. */
  readonly text: string;
}

/** Vectors are compared as vectors, not as texts. */
const SKIPPED = '/vectors';
/** The reader pauses after this number of values without a text. */
const STEP_VALUES = 1_024;

/**
 * The leaves of a record from its stored text, in the order of the text, without null values and vectors. The stored text has no
 * white space around its tokens and no members that the service assigns, such as times: with them, a search for a year would find
 * every record. The text is read lazily, because a record may have a hundred thousand leaves. A path is cut to `pathMax` UTF-16
 * units, and not extended below a cut: else each leaf of a list could copy a member name of half a megabyte. The
 * generator yields `null` for a pause in long work.
 */
export function leavesOf(storedText: string, pathMax = Infinity): Generator<Leaf | null, void> {
  return new LeafReader(storedText, pathMax).value('');
}

/** Reads a valid JSON text. The recursion is as deep as the text. */
class LeafReader {
  readonly #text: string;
  readonly #pathMax: number;
  #at = 0;
  #silent = 0;

  constructor(text: string, pathMax: number) {
    this.#text = text;
    this.#pathMax = pathMax;
  }

  *value(path: string): Generator<Leaf | null, void> {
    this.#silent += 1;
    if (this.#silent >= STEP_VALUES) yield this.#paused(null);
    const first = this.#text[this.#at];
    if (first === '{') yield* this.#object(path);
    else if (first === '[') yield* this.#array(path);
    else if (first === '"') yield this.#paused({ path, text: this.#string() });
    else {
      const text = this.#word();
      if (text !== null) yield this.#paused({ path, text });
    }
  }

  #paused(leaf: Leaf | null): Leaf | null {
    this.#silent = 0;
    return leaf;
  }

  *#object(path: string): Generator<Leaf | null, void> {
    this.#at += 1;
    while (this.#text[this.#at] !== '}') {
      if (this.#text[this.#at] === ',') this.#at += 1;
      const member = this.#below(path, this.#string());
      this.#at += 1;
      const leaves = this.value(member);
      if (member !== SKIPPED) yield* leaves;
      else for (const leaf of leaves) if (leaf === null) yield null;
    }
    this.#at += 1;
  }

  *#array(path: string): Generator<Leaf | null, void> {
    this.#at += 1;
    for (let index = 0; this.#text[this.#at] !== ']'; index += 1) {
      if (this.#text[this.#at] === ',') this.#at += 1;
      yield* this.value(path.length < this.#pathMax ? `${path}/${index}`.slice(0, this.#pathMax) : path);
    }
    this.#at += 1;
  }

  #below(path: string, name: string): string {
    return path.length < this.#pathMax ? pointerTo(path, name).slice(0, this.#pathMax) : path;
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    const inner = this.#text.slice(start + 1, end);
    return inner.includes('\\') ? (JSON.parse(this.#text.slice(start, end + 1)) as string) : inner;
  }

  /** Whether an odd number of backslashes stands before the place. */
  #isEscaped(place: number): boolean {
    let before = place;
    while (this.#text[before - 1] === '\\') before -= 1;
    return (place - before) % 2 === 1;
  }

  /** `null` if the word has no text. */
  #word(): string | null {
    const start = this.#at;
    while (this.#at < this.#text.length && !isEnd(this.#text.charCodeAt(this.#at))) this.#at += 1;
    const word = this.#text.slice(start, this.#at);
    if (word === 'null') return null;
    if (word === 'true') return 'True';
    return word === 'false' ? 'False' : word;
  }
}

/** A comma or a closing bracket. */
function isEnd(code: number): boolean {
  return code === 0x2c || code === 0x5d || code === 0x7d;
}
