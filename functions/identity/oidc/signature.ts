import { isDeepStrictEqual } from 'node:util';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import { lifetimeSecondsMax } from './claims.ts';
import { refused } from './refusal.ts';

export interface SignedToken {
  readonly token: string;
  /** As it was read and judged; the verified one has to be the same. */
  readonly payload: JsonMembers;
  readonly kid: string;
  /** The public key of that id, as PEM. */
  readonly pem: string;
}

export interface SignatureRules {
  readonly audiences: readonly string[];
  readonly issuers: readonly string[];
}

/**
 * The library checks the times again, by the clock of the machine and with 300 s of tolerance. The longest lifetime that
 * the claims allow, and some room, so that the library refuses no token that the claims check accepted.
 */
const lifetimeSeconds = lifetimeSecondsMax + 300;

/**
 * Throws `unauthenticated` unless the key signed the token. The errors of the library are dropped: their messages hold the token.
 */
export async function verifySignature(signed: SignedToken, rules: SignatureRules): Promise<void> {
  const { token, payload, kid, pem } = signed;
  // Loaded with the first token, so that a function which never sees one does not pay for it.
  const { OAuth2Client } = await import('./auth-library.ts');
  let verified: unknown;
  try {
    const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(
      token,
      { [kid]: pem },
      [...rules.audiences],
      [...rules.issuers],
      lifetimeSeconds,
    );
    verified = ticket.getPayload();
  } catch {
    throw notVerified();
  }
  if (!isDeepStrictEqual(verified, payload)) throw notVerified();
}

function notVerified() {
  return refused('The signature of the identity token does not hold.');
}
