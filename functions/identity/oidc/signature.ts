import type { KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import { parseJsonObject } from './json-object.ts';
import { refused } from './refusal.ts';

export interface SignedToken {
  readonly token: string;
  /** The payload that the service has checked. The verified payload must be equal. */
  readonly payload: JsonMembers;
  /** The public key that the token names. */
  readonly key: KeyObject;
}

/**
 * Throws `unauthenticated` unless the key signed the token with RS256. The errors of the library are dropped: a later version
 * may quote the token in them.
 */
export async function verifySignature({ token, payload, key }: SignedToken): Promise<void> {
  // Load the library with the first token: a function that receives none starts faster.
  const { compactVerify } = await import('./jose.ts');
  let verified: unknown;
  try {
    const { payload: bytes } = await compactVerify(token, key, { algorithms: ['RS256'] });
    verified = parseJsonObject(bytes);
  } catch {
    throw notVerified();
  }
  if (!isDeepStrictEqual(verified, payload)) throw notVerified();
}

function notVerified() {
  return refused('The signature of the identity token does not hold.');
}
