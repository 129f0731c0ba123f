import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import { invalidMember } from './errors.ts';

const POINTER = '/continuationToken';

/**
 * Continuation tokens that name a position in the answer to one query and in no other: the position stands beside a MAC
 * over itself and the query, so that a token that was changed, or is used with other filters, is refused as a whole.
 */
export class PageTokens {
  readonly #key: () => Promise<Uint8Array>;

  /** `key` gives the secret that all instances over one store share. */
  constructor(key: () => Promise<Uint8Array>) {
    this.#key = key;
  }

  /** The token for `position` in the answer to `query`, or `null` where there is no next page. */
  async issue(query: unknown, position: string | null): Promise<string | null> {
    if (position === null) return null;
    const text = Buffer.from(position).toString('base64url');
    return `${text}.${await this.#mac(query, text)}`;
  }

  /** The position in `token`, `null` for the first page. Throws `continuation_token_invalid`. */
  async read(query: unknown, token: string | null | undefined): Promise<string | null> {
    if (token === undefined || token === null) return null;
    const [text = '', mac = '', ...rest] = token.split('.');
    const expected = Buffer.from(await this.#mac(query, text));
    const given = Buffer.from(mac);
    // The texts are compared, not what they decode to: base64 has several spellings of one value.
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw invalidMember(POINTER, 'is not a token that this query was given', 'continuation_token_invalid');
    }
    return Buffer.from(text, 'base64url').toString();
  }

  async #mac(query: unknown, text: string): Promise<string> {
    const key = await this.#key();
    return createHmac('sha256', key)
      .update(`page-token.v1\n${canonicalJson(query)}\n${text}`)
      .digest('base64url');
  }
}
