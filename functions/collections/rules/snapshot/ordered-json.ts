/**
 * A JSON value whose objects keep the order of their members: JavaScript objects move members such as `1` to the front, and the
 * hash of a snapshot depends on the order. Names are parsed one by one: V8 may confuse escaped names of objects.
 */
export type OrderedJson = null | boolean | number | string | readonly OrderedJson[] | OrderedObject;
export type OrderedObject = ReadonlyMap<string, OrderedJson>;

/** Reads a JSON text that was checked before: strict, without repeated members, and of bounded depth. */
export function readOrderedJson(text: string): OrderedJson {
  return new OrderedJsonReader(text).value();
}

export function isOrderedObject(value: OrderedJson | undefined): value is OrderedObject {
  return value instanceof Map;
}

class OrderedJsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): OrderedJson {
    const first = this.#peek();
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    return first === '"' ? this.#string() : this.#word();
  }

  #object(): OrderedObject {
    const members = new Map<string, OrderedJson>();
    this.#at += 1;
    while (this.#peek() !== '}') {
      this.#skip(',');
      const name = this.#string();
      this.#skip(':');
      members.set(name, this.value());
    }
    this.#at += 1;
    return members;
  }

  #array(): OrderedJson[] {
    const items: OrderedJson[] = [];
    this.#at += 1;
    while (this.#peek() !== ']') {
      this.#skip(',');
      items.push(this.value());
    }
    this.#at += 1;
    return items;
  }

  #string(): string {
    const from = this.#at;
    let end = this.#text.indexOf('"', from + 1);
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) throw new SyntaxError('the JSON text ends within a string');
    this.#at = end + 1;
    return JSON.parse(this.#text.slice(from, end + 1)) as string;
  }

  /** Whether an odd number of backslashes stands before `at`. */
  #isEscaped(at: number): boolean {
    let before = at;
    while (this.#text[before - 1] === '\\') before -= 1;
    return (at - before) % 2 === 1;
  }

  /** A number, `true`, `false` or `null`. */
  #word(): null | boolean | number {
    const from = this.#at;
    while (this.#at < this.#text.length && !',]} \n\r\t'.includes(this.#text[this.#at] ?? '')) this.#at += 1;
    return JSON.parse(this.#text.slice(from, this.#at)) as null | boolean | number;
  }

  /** The next character that is not white space. */
  #peek(): string {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '?')) this.#at += 1;
    const next = this.#text[this.#at];
    if (next === undefined) throw new SyntaxError('the JSON text ends early');
    return next;
  }

  /** Skips `separator` if it is next, and the white space around it. */
  #skip(separator: string): void {
    if (this.#peek() !== separator) return;
    this.#at += 1;
    this.#peek();
  }
}
