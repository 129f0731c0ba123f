import type { JsonMembers } from '../../kernel/json-kinds.ts';
import type { VerifiedIdentity } from '../workload.ts';
import { refused } from './refusal.ts';

/** The rules for the claims of a token (RFC 7519 section 4.1, OpenID Connect Core section 2). */
export interface ClaimRules {
  readonly audiences: readonly string[];
  readonly issuers: readonly string[];
  /** The accepted values of `azp`; empty to accept any value and none. */
  readonly authorizedParties: readonly string[];
  /** The claim that names the principal. */
  readonly principalClaim: 'email' | 'sub';
}

/** Permitted difference between the clocks of the issuer and of the service, in seconds. */
const toleranceSeconds = 60;
/**
 * A day and an hour: issuers of tokens for a day set `iat` some minutes back, for receivers with a slow clock (Microsoft Entra gives
 * managed identities 24 hours and 5 minutes).
 */
const lifetimeSecondsMax = 25 * 3600;

// Printable ASCII: the specification allows 255 ASCII characters.
const subjectPattern = /^[\x20-\x7e]{1,255}$/;
const emailPattern =
  /^[a-z0-9_'+-]+(?:\.[a-z0-9_'+-]+)*@[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)+$/;
const emailLengthMax = 254;

/**
 * The identity that the claims of a token with a valid signature prove at `now` (milliseconds of the Unix epoch). Throws
 * `unauthenticated` for claims that break the rules.
 */
export function identityOf(payload: JsonMembers, rules: ClaimRules, now: number): VerifiedIdentity {
  requireOneOf(payload['iss'], rules.issuers, 'The identity token is from another issuer.');
  // Refuse a list even if it contains our audience: another service in it could reuse the token here.
  requireOneOf(payload['aud'], rules.audiences, 'The identity token is for another audience.');
  if (rules.authorizedParties.length > 0) {
    const detail = 'The identity token was issued to a party that may not use it here.';
    requireOneOf(payload['azp'], rules.authorizedParties, detail);
  }
  const issuedAt = checkTimes(payload, now / 1000) * 1000;
  const subject = subjectOf(payload);
  return { principal: rules.principalClaim === 'sub' ? subject : emailOf(payload), issuedAt };
}

function requireOneOf(claim: unknown, allowed: readonly string[], detail: string): void {
  if (typeof claim !== 'string' || !allowed.includes(claim)) throw refused(detail);
}

/** Checks the times, which are seconds of the Unix epoch. Returns the time of issue. */
function checkTimes({ exp, iat, nbf }: JsonMembers, now: number): number {
  if (!isTime(exp) || !isTime(iat) || (nbf !== undefined && !isTime(nbf)))
    throw refused('A time of the identity token is missing, or is not a whole number of seconds.');
  if (exp <= now - toleranceSeconds) throw refused('The identity token has expired.');
  if (iat > now + toleranceSeconds || (nbf !== undefined && nbf > now + toleranceSeconds))
    throw refused('The identity token is not valid yet.');
  if (exp - iat > lifetimeSecondsMax) throw refused('The identity token is valid for longer than 25 hours.');
  return iat;
}

function isTime(claim: unknown): claim is number {
  return Number.isSafeInteger(claim) && (claim as number) >= 0;
}

function subjectOf({ sub }: JsonMembers): string {
  if (typeof sub !== 'string' || !subjectPattern.test(sub))
    throw refused('The identity token has no acceptable subject.');
  return sub;
}

/**
 * Accepts an address only in lower case and ASCII. The service converts no characters, so a look-alike cannot become another address.
 */
function emailOf({ email, email_verified: verified }: JsonMembers): string {
  if (verified !== true || typeof email !== 'string')
    throw refused('The identity token has no verified e-mail address.');
  if (email.length > emailLengthMax || !emailPattern.test(email))
    throw refused('The e-mail address of the identity token is not one of lower-case ASCII.');
  return email;
}
