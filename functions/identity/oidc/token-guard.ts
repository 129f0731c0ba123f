import type { JsonMembers } from '../../kernel/json-kinds.ts';
import { parseJsonObject } from './json-object.ts';
import { refused } from './refusal.ts';

/**
 * The form of an identity token: a JSON Web Signature in compact form (RFC 7515 section 7.1) with the algorithm RS256.
 * Libraries accept many spellings; here a token has one spelling, and its header can choose the key only.
 */
export interface GuardedToken {
  readonly kid: string;
  /** The payload, whose signature is not verified yet. */
  readonly payload: JsonMembers;
}

/**
 * The verifier of the signature: this application, or the platform in front of it. The platform removes the signature, so that the
 * token cannot be used elsewhere.
 */
export type Verification = 'application' | 'platform';

const tokenBytesMax = 8192;
const signatureRemoved = 'SIGNATURE_REMOVED_BY_GOOGLE';
const keyIdPattern = /^[\x21-\x7e]{1,256}$/;

/**
 * Members of a header that carry a key, or change how the token or its content is read. A thumbprint (`x5t`, `x5t#S256`) is allowed:
 * it only names the key again, the service does not read it, and large issuers send it.
 */
const forbidden = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'zip', 'enc'];

/** Throws `unauthenticated` for a text that is not exactly one token of that form. */
export function readToken(token: string, verification: Verification): GuardedToken {
  if (token.length > tokenBytesMax) throw malformed();
  const segments = token.split('.');
  const [header, payload, signature] = segments;
  if (segments.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    throw malformed();
  if (!isSignature(signature, verification)) throw malformed();
  return { kid: keyIdOf(objectOf(header)), payload: objectOf(payload) };
}

function isSignature(segment: string, verification: Verification): boolean {
  if (verification === 'platform') return segment === signatureRemoved;
  return segment !== '' && segment !== signatureRemoved && decode(segment) !== undefined;
}

function objectOf(segment: string): JsonMembers {
  const bytes = decode(segment);
  const object = bytes && parseJsonObject(bytes);
  if (object === undefined) throw malformed();
  return object;
}

/**
 * Decodes base64url without padding (RFC 4648 section 5). The decoder skips unknown characters and unused bits, so the result is
 * encoded again and compared with the text.
 */
function decode(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : undefined;
}

function keyIdOf(header: JsonMembers): string {
  const { alg, kid, typ } = header;
  if (alg !== 'RS256') throw refused('The identity token is not signed with RS256.');
  if (typ !== undefined && typ !== 'JWT' && typ !== 'jwt') throw malformed();
  if (forbidden.some((name) => Object.hasOwn(header, name))) throw malformed();
  if (typeof kid !== 'string' || !keyIdPattern.test(kid)) throw malformed();
  return kid;
}

function malformed() {
  return refused('The identity token is not well-formed.');
}
