import { randomUUID } from 'node:crypto';

/** Unique secrets, and a search that finds them in every encoding. */

export type CanaryKind = 'api-key' | 'token' | 'lease-token' | 'payload';

export interface Canary {
  readonly kind: CanaryKind;
  readonly text: string;
}

/** A place that may have been written to, as text or as the bytes of a file. */
export interface SearchPlace {
  readonly name: string;
  readonly content: string | Uint8Array;
}

export class Canaries {
  readonly #planted: Canary[] = [];
  readonly #search = new ByteSearch<Canary>();
  /** The number of planted secrets that the search looks for. */
  #searched = 0;

  /** A new secret that is as long and as random as a real one. */
  make(kind: CanaryKind): string {
    const text = `canary${kind}${randomUUID()}${randomUUID()}`.replaceAll('-', '');
    return this.plant(kind, text);
  }

  /** A JSON Web Token in form; its claims hold a secret too. */
  makeJwt(): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const email = `${this.make('token')}@example.iam.gserviceaccount.com`;
    return this.plant(
      'token',
      `${part({ alg: 'RS256', kid: 'a' })}.${part({ email })}.${part({ s: randomUUID() })}`,
    );
  }

  /** Remembers a secret that the service made. */
  plant(kind: CanaryKind, text: string): string {
    this.#planted.push({ kind, text });
    return text;
  }

  /** `kind in place` for every secret of these kinds that is found, itself or in an encoding. */
  hits(places: readonly SearchPlace[], kinds: readonly CanaryKind[]): string[] {
    for (const canary of this.#planted.slice(this.#searched))
      for (const dress of dresses(canary.text)) this.#search.add(dress, canary);
    this.#searched = this.#planted.length;
    return places.flatMap(({ name, content }) =>
      this.#search
        .in(Buffer.from(content as string))
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ kind }) => `${kind} in ${name}`),
    );
  }

  get planted(): readonly Canary[] {
    return this.#planted;
  }
}

export function holds(bytes: Buffer, text: string): boolean {
  return bytes.includes(text);
}

const SLOT_BITS = 20;

/** Searches many byte strings in one pass: a place is compared with those alone that end with its last four bytes. */
class ByteSearch<T> {
  readonly #byEnd = new Map<number, { readonly bytes: Buffer; readonly owner: T }[]>();
  /** A place whose slot is 0 ends none of them: this costs a fraction of a look into the map. */
  readonly #slots = new Uint8Array(2 ** SLOT_BITS);

  readonly #known = new Set<string>();

  /** A byte string belongs to the first owner that adds it. It has at least four bytes. */
  add(bytes: Buffer, owner: T): void {
    const name = bytes.toString('latin1');
    if (this.#known.has(name)) return;
    this.#known.add(name);
    const end = bytes.readInt32BE(bytes.length - 4);
    const alike = this.#byEnd.get(end);
    if (alike === undefined) this.#byEnd.set(end, [{ bytes, owner }]);
    else alike.push({ bytes, owner });
    this.#slots[slotOf(end)] = 1;
  }

  /** The owners of the byte strings that the content holds. */
  in(content: Buffer): readonly T[] {
    const found = new Set<T>();
    let end = 0;
    for (let at = 0; at < content.length; at += 1) {
      end = (end << 8) | (content[at] ?? 0);
      if (this.#slots[slotOf(end)] === 0) continue;
      for (const { bytes, owner } of this.#byEnd.get(end) ?? []) {
        const from = at + 1 - bytes.length;
        if (from >= 0 && bytes.compare(content, from, at + 1) === 0) found.add(owner);
      }
    }
    return [...found];
  }
}

function slotOf(end: number): number {
  return Math.imul(end, 0x9e3779b1) >>> (32 - SLOT_BITS);
}

/** The forms of a secret: encoded, or a part of it from which the rest can be guessed. */
function dresses(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  // Base64 of something longer that holds the text, at each of the three ways it can lie there.
  const aligned = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift, 'x'), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  const percent = [...bytes].map((byte) => `%${byte.toString(16)}`).join('');
  const texts = [
    text,
    // Engines quote the first ten characters of what they cannot read.
    text.slice(0, 10),
    text.slice(-24),
    bytes.toString('hex'),
    // The text as UTF-16, and its bytes misread as that.
    bytes.toString('utf16le'),
    encodeURIComponent(text),
    percent,
    Array.from(text).reverse().join(''),
    ...aligned,
  ];
  return [...texts.map((each) => Buffer.from(each)), Buffer.from(text, 'utf16le')];
}
