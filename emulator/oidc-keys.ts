import { generateKeyPair, hash, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

/** The claims of a token to sign. */
export interface MintClaims {
  /** Absent: the token has only a subject. */
  readonly email?: string;
  /** `sub`; absent: a number derived from the email address. */
  readonly subject?: string;
  readonly audience: string;
  /** `azp`. */
  readonly authorizedParty?: string;
  /** Seconds of the Unix epoch; absent: now. */
  readonly issuedAtSeconds?: number;
  /** Counted from `issuedAtSeconds`; default 3600. */
  readonly expiresInSeconds?: number;
}

/** The keys of the local issuer: the last one signs, all of them are published. */
export interface SigningKeys {
  mint(issuer: string, claims: MintClaims): string;
  rotate(): Promise<void>;
  /** As JSON Web Keys (RFC 7517). */
  published(): readonly object[];
}

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

const makeKeyPair = promisify(generateKeyPair);

export async function signingKeys(): Promise<SigningKeys> {
  let current = await makeKey();
  const all = [current];
  return {
    mint: (issuer, claims) => signed(current, claimsOf(issuer, claims)),
    async rotate() {
      current = await makeKey();
      all.push(current);
    },
    published: () => all.map(({ jwk }) => jwk),
  };
}

async function makeKey(): Promise<SigningKey> {
  const { privateKey, publicKey } = await makeKeyPair('rsa', { modulusLength: 2048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  // The thumbprint of the key (RFC 7638): no two keys share an id.
  const kid = hash('sha256', JSON.stringify({ e, kty: 'RSA', n }), 'base64url');
  return { kid, privateKey, jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e } };
}

function claimsOf(issuer: string, claims: MintClaims): object {
  const { email, audience, authorizedParty, expiresInSeconds = 3600 } = claims;
  const issuedAt = claims.issuedAtSeconds ?? Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    sub: claims.subject ?? subjectOf(email ?? ''),
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + expiresInSeconds,
    ...(email === undefined ? {} : { email, email_verified: true }),
    ...(authorizedParty === undefined ? {} : { azp: authorizedParty }),
  };
}

/** A number of Google's form that does not reveal the address. */
function subjectOf(email: string): string {
  return BigInt(`0x${hash('sha256', email).slice(0, 16)}`).toString();
}

/** A JSON Web Signature in compact form (RFC 7515 section 3.1). */
function signed({ kid, privateKey }: SigningKey, claims: object): string {
  const input = [{ alg: 'RS256', typ: 'JWT', kid }, claims].map(segmentOf).join('.');
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

function segmentOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
