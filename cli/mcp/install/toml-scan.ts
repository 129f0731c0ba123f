/** The statements of a TOML text with their places. It reads as much of TOML 1.0 as an edit of one table needs. */

export interface TomlTable {
  readonly path: readonly string[];
  readonly isArray: boolean;
  /** The place behind the line of the header. */
  readonly bodyStart: number;
}

export interface TomlValue {
  /** The table in which it stands; empty for the root. */
  readonly table: readonly string[];
  readonly key: readonly string[];
  readonly start: number;
  readonly end: number;
}

export interface TomlStatements {
  readonly tables: readonly TomlTable[];
  readonly values: readonly TomlValue[];
}

/** Throws an Error with the line of the first fault. */
export function scanToml(text: string): TomlStatements {
  const tables: TomlTable[] = [];
  const values: TomlValue[] = [];
  const seen = new Set<string>();
  const scanner = new Scanner(text);
  // Editors on Windows write a mark of the encoding first.
  scanner.takes('\uFEFF');
  let table: readonly string[] = [];
  const once = (kind: string, path: readonly string[]) => {
    const name = `${kind}${JSON.stringify(path)}`;
    if (seen.has(name)) scanner.fail('a name stands twice');
    seen.add(name);
  };
  for (scanner.skipBlank(); !scanner.isAtEnd; scanner.skipBlank()) {
    if (scanner.takes('[')) {
      const isArray = scanner.takes('[');
      table = scanner.key();
      scanner.expect(isArray ? ']]' : ']');
      scanner.endLine();
      if (isArray) seen.clear();
      else once('table', table);
      tables.push({ path: table, isArray, bodyStart: scanner.at });
    } else {
      const key = scanner.key();
      once('value', [...table, ...key]);
      scanner.expect('=');
      scanner.skipSpaces();
      const start = scanner.at;
      scanner.value();
      values.push({ table, key, start, end: scanner.at });
      scanner.endLine();
    }
  }
  return { tables, values };
}

const BARE_KEY = /[A-Za-z0-9_-]+/y;
const BARE_VALUE =
  /(?:true|false|[+-]?(?:inf|nan)|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d:\d\d(?:\.\d+)?|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)(?![\w.+-])/y;
const STRINGS = [
  /"""(?:[^\\"]|\\[^]|"(?!""))*"{3,5}/y,
  /'''(?:[^']|'(?!''))*'{3,5}/y,
  /"(?:[^"\\\n]|\\[^\n])*"/y,
  /'[^'\n]*'/y,
] as const;
const DEPTH_MAX = 100;

class Scanner {
  at = 0;
  readonly #text: string;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length;
  }

  /** A name of one or more parts. */
  key(): readonly string[] {
    const parts: string[] = [];
    do {
      this.skipSpaces();
      const quoted = this.#match(STRINGS[2]) ?? this.#match(STRINGS[3]);
      const part = quoted === undefined ? this.#match(BARE_KEY) : unquoted(quoted);
      if (part === undefined) this.fail('a name is missing');
      parts.push(part);
      this.skipSpaces();
    } while (this.takes('.'));
    return parts;
  }

  value(): void {
    if ((this.#depth += 1) > DEPTH_MAX) this.fail('a value is too deep');
    if (this.takes('[')) this.#array();
    else if (this.takes('{')) this.#inlineTable();
    else if ([...STRINGS, BARE_VALUE].every((form) => this.#match(form) === undefined))
      this.fail('a value is broken');
    this.#depth -= 1;
  }

  takes(mark: string): boolean {
    const isThere = this.#text.startsWith(mark, this.at);
    if (isThere) this.at += mark.length;
    return isThere;
  }

  expect(mark: string): void {
    this.skipSpaces();
    if (!this.takes(mark)) this.fail(`${mark} is missing`);
  }

  /** The rest of a line may hold a comment. */
  endLine(): void {
    this.#match(/[ \t]*(?:#[^\n]*)?/y);
    if (!this.isAtEnd && !this.takes('\r\n') && !this.takes('\n'))
      this.fail('a line goes on after its value');
  }

  skipSpaces(): void {
    this.#match(/[ \t]+/y);
  }

  skipBlank(): void {
    this.#match(/(?:[ \t\r\n]+|#[^\n]*)+/y);
  }

  fail(why: string): never {
    const line = this.#text.slice(0, this.at).split('\n').length;
    throw new Error(`it is not TOML: ${why} in line ${line}`);
  }

  #array(): void {
    for (this.skipBlank(); !this.takes(']'); this.skipBlank()) {
      this.value();
      this.skipBlank();
      if (!this.takes(',') && this.#text[this.at] !== ']') this.fail('a list is broken');
    }
  }

  #inlineTable(): void {
    this.skipSpaces();
    if (this.takes('}')) return;
    do {
      this.key();
      this.expect('=');
      this.skipSpaces();
      this.value();
      this.skipSpaces();
    } while (this.takes(','));
    this.expect('}');
  }

  #match(form: RegExp): string | undefined {
    form.lastIndex = this.at;
    const found = form.exec(this.#text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  try {
    return JSON.parse(text) as string;
  } catch {
    // An escape that JSON does not know: such a name is none that an edit looks for.
    return text;
  }
}
