import { createPrivateKey, createPublicKey, generateKeyPair, hash, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { exitCodes, ToolError } from '../output.ts';

/** A key of an operator who issues identity tokens without an identity provider. */
export interface SigningKey {
  /** PKCS #8. Who reads it can act as every principal. */
  readonly pem: string;
  readonly jwk: PublicKey;
}

/** The public part, as the file of `Server:Oidc:KeySetFile` holds it (RFC 7517). */
export interface PublicKey {
  readonly kty: 'RSA';
  readonly use: 'sig';
  readonly alg: 'RS256';
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

export interface TokenClaims {
  readonly issuer: string;
  readonly audience: string;
  readonly principal: string;
  /** Which claim names the principal: `Server:Oidc:PrincipalClaim`. */
  readonly principalClaim: 'sub' | 'email';
  /** Seconds of the Unix epoch. */
  readonly issuedAt: number;
  readonly lifetimeSeconds: number;
}

const makeKeyPair = promisify(generateKeyPair);

export async function createSigningKey(): Promise<SigningKey> {
  const { privateKey } = await makeKeyPair('rsa', { modulusLength: 3072 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, jwk: publicKeyOf(privateKey) };
}

/** Throws for a text that is no RSA key, without quoting it. */
export function readSigningKey(pem: string, name: string): SigningKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new ToolError(`${name}: holds no private key`, exitCodes.usage);
  }
  if (key.asymmetricKeyType !== 'rsa') throw new ToolError(`${name}: holds no RSA key`, exitCodes.usage);
  return { pem, jwk: publicKeyOf(key) };
}

function publicKeyOf(key: KeyObject): PublicKey {
  const { n = '', e = '' } = createPublicKey(key).export({ format: 'jwk' });
  // The thumbprint of the key (RFC 7638): no two keys share an id.
  const kid = hash('sha256', JSON.stringify({ e, kty: 'RSA', n }), 'base64url');
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
}

/** An OpenID Connect identity token, signed with RS256 (RFC 7515 section 3.1). */
export function mintToken({ pem, jwk }: SigningKey, claims: TokenClaims): string {
  const { issuer, audience, principal, principalClaim, issuedAt, lifetimeSeconds } = claims;
  const email = principalClaim === 'email' ? { email: principal, email_verified: true } : {};
  const payload = {
    iss: issuer,
    aud: audience,
    sub: principal,
    ...email,
    iat: issuedAt,
    exp: issuedAt + lifetimeSeconds,
  };
  const input = [{ alg: 'RS256', typ: 'JWT', kid: jwk.kid }, payload].map(segmentOf).join('.');
  return `${input}.${sign('sha256', Buffer.from(input), createPrivateKey(pem)).toString('base64url')}`;
}

function segmentOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
