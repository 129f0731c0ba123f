/**
 * `JSON.parse` for texts whose member names come from others. V8 (Node 22 to 26) may give a member whose name is written with an
 * escape the name of a member of another text, one that the process has parsed before (nodejs/node issue 63785). So a text with
 * such a name is read member by member; all other texts cost one search for a backslash.
 *
 * Throws a SyntaxError where `JSON.parse` does.
 */
export function parseJson(text: string): unknown {
  // `JSON.parse` checks the grammar and reads the values correctly: only names may be wrong.
  const value: unknown = JSON.parse(text);
  return hasEscapedName(text) ? new JsonReader(text).value() : value;
}

/**
 * Whether a valid JSON text holds an escape in the name of a member.
 * @testonly
 */
export function hasEscapedName(text: string): boolean {
  let escape = text.indexOf('\\');
  for (let at = 0; escape >= 0; ) {
    const start = text.indexOf('"', at);
    let end = text.indexOf('"', start + 1);
    const isEscaped = escape < end;
    while (escape >= 0 && escape < end) {
      if (escape + 1 === end) end = text.indexOf('"', end + 1);
      escape = text.indexOf('\\', escape + 2);
    }
    if (isEscaped && text[placeOfNext(text, end + 1)] === ':') return true;
    at = end + 1;
  }
  return false;
}

/** The place of the first character from `at` on that is not white space. */
function placeOfNext(text: string, at: number): number {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next += 1;
  return next;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Reads a valid JSON text. The recursion is as deep as the text. */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    const first = this.#next();
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    return first === '"' ? this.#string() : this.#word();
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    while (this.#next() !== '}') {
      if (this.#next() === ',') this.#at += 1;
      this.#next();
      const name = this.#string();
      this.#next();
      this.#at += 1;
      const value = this.value();
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
      else object[name] = value;
    }
    this.#at += 1;
    return object;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#next() !== ']') {
      if (this.#next() === ',') this.#at += 1;
      items.push(this.value());
    }
    this.#at += 1;
    return items;
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    let escape = this.#escapeBefore(start + 1, end);
    const isEscaped = escape >= 0;
    while (escape >= 0) {
      if (escape + 1 === end) end = this.#text.indexOf('"', end + 1);
      escape = this.#escapeBefore(escape + 2, end);
    }
    this.#at = end + 1;
    if (!isEscaped) return this.#text.slice(start + 1, end);
    return JSON.parse(this.#text.slice(start, end + 1)) as string;
  }

  /** Looks no further than the string: a long text has its next escape far away. */
  #escapeBefore(from: number, end: number): number {
    for (let at = from; at < end; at += 1) if (this.#text.charCodeAt(at) === 0x5c) return at;
    return -1;
  }

  /** A number, `true`, `false` or `null`. */
  #word(): unknown {
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#isEnd(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  /** A comma or a closing bracket, or white space. */
  #isEnd(code: number): boolean {
    return code === 0x2c || code === 0x5d || code === 0x7d || isSpace(code);
  }

  /** Goes to the next character that is not white space. */
  #next(): string | undefined {
    this.#at = placeOfNext(this.#text, this.#at);
    return this.#text[this.#at];
  }
}
