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
    const wanted = this.#planted
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ kind, text }) => ({ kind, dresses: dresses(text) }));
    const contents = places.map(({ name, content }) => ({ name, bytes: Buffer.from(content as string) }));
    // Searches all secrets at once first: mostly none is found, and then their places do not matter.
    const whole = Buffer.concat(contents.map(({ bytes }) => bytes));
    const found = wanted.filter((each) => each.dresses.some((dress) => holds(whole, dress)));
    return contents.flatMap(({ name, bytes }) =>
      found
        .filter((each) => each.dresses.some((dress) => holds(bytes, dress)))
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

/** The forms of a secret: encoded, or a part of it from which the rest can be guessed. */
function dresses(text: string): string[] {
  const bytes = Buffer.from(text);
  // Base64 of something longer that holds the text, at each of the three ways it can lie there.
  const aligned = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift, 'x'), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  const percent = [...bytes].map((byte) => `%${byte.toString(16)}`).join('');
  return [
    text,
    // Engines quote the first ten characters of what they cannot read.
    text.slice(0, 10),
    text.slice(-24),
    bytes.toString('hex'),
    bytes.toString('utf16le'),
    encodeURIComponent(text),
    percent,
    Array.from(text).reverse().join(''),
    ...aligned,
  ];
}
