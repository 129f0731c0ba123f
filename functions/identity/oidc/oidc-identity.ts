import type { Clock } from '../../kernel/world.ts';
import { bearerToken, type CredentialHeaders } from '../credentials.ts';
import type { WorkloadIdentity } from '../workload.ts';
import { type ClaimRules, identityOf } from './claims.ts';
import type { KeySet } from './key-set.ts';
import { refused } from './refusal.ts';
import { verifySignature } from './signature.ts';
import { readToken, type Verification } from './token-guard.ts';

export interface OidcOptions extends ClaimRules {
  /** `platform`: Cloud Run has verified the token and has replaced its signature by a fixed text. */
  readonly verification: Verification;
  /** Not used if the platform verifies. */
  readonly keys: KeySet;
  readonly clock: Clock;
}

/**
 * An OpenID Connect identity token (RFC 7519, RS256) as the proof of a caller's identity. Its form and claims are
 * checked before its key is fetched, so that an unacceptable token causes no outgoing request.
 *
 * Throws an Error for options without an audience or an issuer, which would accept every token or none.
 */
export function createOidcIdentity(options: OidcOptions): WorkloadIdentity {
  const { audiences, issuers, verification, clock } = options;
  requireSome(audiences, 'an identity by token needs an audience');
  requireSome(issuers, 'an identity by token needs an issuer');
  return {
    async identify(headers, { fromAuthorization }) {
      const token = tokenOf(headers, fromAuthorization);
      if (token === undefined) return null;
      const { kid, payload } = readToken(token, verification);
      const identity = identityOf(payload, options, clock.now());
      if (verification === 'application') {
        const key = await options.keys.keyFor(kid);
        if (key === undefined) throw refused('The identity token is signed with an unknown key.');
        verifySignature(token, key);
      }
      return identity;
    },
  };
}

function requireSome(texts: readonly string[], detail: string): void {
  if (texts.length === 0 || texts.some((text) => text.trim() === '')) throw new Error(detail);
}

/** A non-blank `X-Serverless-Authorization` is final: the service never mixes two identities of one request. */
function tokenOf(headers: CredentialHeaders, fromAuthorization: boolean): string | undefined {
  const serverless = headers.get('x-serverless-authorization');
  if (serverless !== undefined && serverless.trim() !== '') {
    const token = exactToken(serverless);
    if (token === undefined) throw refused('X-Serverless-Authorization holds no bearer token.');
    return token;
  }
  return fromAuthorization ? exactToken(headers.get('authorization')) : undefined;
}

/** The bearer token with any extra white space kept, so that the guard refuses such a token. */
function exactToken(value: string | undefined): string | undefined {
  return bearerToken(value) === undefined ? undefined : value?.slice('bearer '.length);
}
