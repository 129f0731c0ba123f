import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { invalidMember, type ServiceError } from '../kernel/errors.ts';
import type { JsonMembers } from '../kernel/json-kinds.ts';
import { parseJsonObject } from './oidc/json-object.ts';

/**
 * Proofs of an external context: JSON Web Tokens in compact form (RFC 7515 section 7.1), signed with ES256 (RFC 7518 section 3.4)
 * by another system. A proof names the origin of content; it names no caller and grants no right.
 */

/** The public key of an issuer: a point of P-256, its coordinates in base64url. */
interface ContextKey {
  readonly keyId: string;
  readonly x: string;
  readonly y: string;
}

export interface ContextRules {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: readonly ContextKey[];
}

/** Verifies proofs at `now`, in milliseconds since 1970. Throws `validation_failed` naming `pointer`; no text holds the token. */
export type VerifyContext = (token: string, pointer: string, now: number) => void;

/** Permitted difference between the clocks of the issuer and of the service. */
const TOLERANCE_SECONDS = 60;
const TOKEN_LENGTH_MAX = 8_192;
const SIGNATURE_BYTES = 64;
/** Members of a header that carry a key, or change how the token or its content is read. */
const FORBIDDEN = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'zip', 'enc'];

/** Throws an Error for a key that is no point of the curve. */
export function contextVerifier({ issuer, audience, keys }: ContextRules): VerifyContext {
  const known = new Map(keys.map((key) => [key.keyId, publicKeyOf(key)]));
  return (token, pointer, now) => {
    const refused = (detail: string) => invalidMember(pointer, detail);
    const { signed, header, claims, signature } = segmentsOf(token, refused);
    checkHeader(header, refused);
    const key = typeof header['kid'] === 'string' ? known.get(header['kid']) : undefined;
    if (key === undefined) throw refused('is signed with an unknown key');
    if (!verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature))
      throw refused('has a signature that does not hold');
    if (claims['iss'] !== issuer) throw refused('is from another issuer');
    // Refuse a list even if it contains our audience: another service in it could reuse the proof here.
    if (claims['aud'] !== audience) throw refused('is for another audience');
    checkTimes(claims, now / 1000, refused);
  };
}

/** The key as a `KeyObject` of Node. Throws an Error for a key that is no point of the curve. */
function publicKeyOf({ x, y }: Pick<ContextKey, 'x' | 'y'>): KeyObject {
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

type Refused = (detail: string) => ServiceError;

function segmentsOf(token: string, refused: Refused) {
  const [first = '', second = '', third = '', ...more] = token.split('.');
  const [header, claims, signature] = [first, second, third].map(decoded);
  const isWhole =
    token.length <= TOKEN_LENGTH_MAX && more.length === 0 && signature?.byteLength === SIGNATURE_BYTES;
  const objects = [header, claims].map((bytes) => (bytes === undefined ? undefined : parseJsonObject(bytes)));
  if (!isWhole || objects[0] === undefined || objects[1] === undefined || signature === undefined)
    throw refused('is no token in compact form');
  return { signed: `${first}.${second}`, header: objects[0], claims: objects[1], signature };
}

/** Decodes base64url without padding. Returns `undefined` unless the text is the one canonical spelling of its bytes. */
function decoded(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : undefined;
}

function checkHeader(header: JsonMembers, refused: Refused): void {
  const { alg, typ } = header;
  if (alg !== 'ES256') throw refused('is not signed with ES256');
  const isToken = typ === undefined || typ === 'JWT' || typ === 'jwt';
  if (!isToken || FORBIDDEN.some((name) => Object.hasOwn(header, name)))
    throw refused('has a header that asks for other rules');
}

function checkTimes({ exp, iat, nbf }: JsonMembers, now: number, refused: Refused): void {
  if (exp === undefined || ![exp, iat, nbf].every(isTimeOrAbsent))
    throw refused('has a time that is missing, or is not a whole number of seconds');
  if (Number(exp) <= now - TOLERANCE_SECONDS) throw refused('has expired');
  if (Math.max(Number(iat ?? 0), Number(nbf ?? 0)) > now + TOLERANCE_SECONDS)
    throw refused('is not valid yet');
}

function isTimeOrAbsent(claim: unknown): boolean {
  return claim === undefined || (Number.isSafeInteger(claim) && (claim as number) >= 0);
}
