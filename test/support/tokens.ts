import { createHmac, createPrivateKey, type KeyObject, sign as signBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { exportPKCS8, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { expect, vi } from 'vitest';
import { createKeySet } from '../../functions/identity/oidc/key-set.ts';
import { createOidcIdentity, type OidcOptions } from '../../functions/identity/oidc/oidc-identity.ts';
import type { VerifiedIdentity, WorkloadIdentity } from '../../functions/identity/workload.ts';
import type { OutgoingHttp } from '../../functions/kernel/world.ts';
import { ManualWorld } from './manual-world.ts';

/** Identity tokens, good and bad, and the identity that has to distinguish them. */

export const issuer = 'https://issuer.test';
export const audience = 'https://svc.example';
export const email = 'caller@project.iam.gserviceaccount.com';

export interface SigningKey {
  readonly kid: string;
  /** PKCS #8. */
  readonly privatePem: string;
  /** SPKI. */
  readonly publicPem: string;
  readonly jwk: Readonly<Record<string, unknown>>;
}

/** SPKI. */
export function pemOf(key: KeyObject | undefined): string | undefined {
  return key?.export({ type: 'spki', format: 'pem' }).toString();
}

export async function signingKey(kid: string, modulusLength = 2048): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength, extractable: true });
  const privatePem = await exportPKCS8(privateKey);
  const publicPem = `${await exportSPKI(publicKey)}\n`;
  const { n, e } = createPrivateKey(privatePem).export({ format: 'jwk' });
  return { kid, privatePem, publicPem, jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e } };
}

/** Claims that are accepted at `now`, in milliseconds; members of `changes` that are `undefined` are left out. */
function claimsAt(now: number, changes: Readonly<Record<string, unknown>> = {}): Claims {
  const iat = Math.floor(now / 1000);
  const claims = {
    iss: issuer,
    aud: audience,
    sub: '110169484474386276334',
    email,
    email_verified: true,
    iat,
    exp: iat + 3600,
    ...changes,
  };
  return Object.fromEntries(Object.entries(claims).filter(([, claim]) => claim !== undefined));
}

export type Claims = Readonly<Record<string, unknown>>;

/** A token as everybody makes it. */
export function mint(key: SigningKey, claims: Claims): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: key.kid, typ: 'JWT' })
    .sign(createPrivateKey(key.privatePem));
}

/** A token of arbitrary texts with a valid signature of that key, which no library would make. */
export function mintRaw(key: SigningKey, header: string | Claims, payload: string | Claims): string {
  const input = `${segment(header)}.${segment(payload)}`;
  return `${input}.${signBytes('sha256', Buffer.from(input), key.privatePem).toString('base64url')}`;
}

/** A token with an HMAC in place of the signature. */
export function mintHmac(secret: string, header: Claims, payload: Claims): string {
  const input = `${segment(header)}.${segment(payload)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

export function segment(content: string | Claims): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return Buffer.from(text).toString('base64url');
}

/** An identity over keys that are published at one address; time passes when a test says so, for the library too. */
export class TokenWorld {
  readonly world = new ManualWorld();
  /** The answer of the address. */
  answer: OutgoingHttp;
  /** How often it was asked. */
  fetches = 0;

  constructor(keys: readonly SigningKey[]) {
    this.answer = publishing(keys);
    this.#tellLibrary();
  }

  get now(): number {
    return this.world.now;
  }

  advance(ms: number): void {
    this.world.advance(ms);
    this.#tellLibrary();
  }

  keys() {
    const http: OutgoingHttp = (input, init) => {
      this.fetches += 1;
      return this.answer(input, init);
    };
    const { clock, timers } = this.world;
    return createKeySet({ url: 'https://issuer.test/keys', http, clock, timers });
  }

  /** Whole seconds of the Unix epoch, as claims write them. */
  get seconds(): number {
    return Math.floor(this.world.now / 1000);
  }

  /** Claims that are accepted now, but for the changes. */
  claims(changes: Claims = {}): Claims {
    return claimsAt(this.world.now, changes);
  }

  options(changes: Partial<OidcOptions> = {}): OidcOptions {
    return {
      audiences: [audience],
      issuers: [issuer],
      authorizedParties: [],
      principalClaim: 'email',
      verification: 'application',
      keys: this.keys(),
      clock: this.world.clock,
      ...changes,
    };
  }

  oidc(changes: Partial<OidcOptions> = {}): WorkloadIdentity {
    return createOidcIdentity(this.options(changes));
  }

  /** Reads a token that comes in `Authorization`. */
  reader(changes: Partial<OidcOptions> = {}): TokenReader {
    const oidc = this.oidc(changes);
    return (token) =>
      oidc.identify(new Map([['authorization', `Bearer ${token}`]]), { fromAuthorization: true });
  }

  /** The library reads the clock of the machine. Only the date is replaced: I/O goes on. */
  #tellLibrary(): void {
    vi.useFakeTimers({ toFake: ['Date'], now: this.world.now });
  }
}

export type TokenReader = (token: string) => Promise<VerifiedIdentity | null>;

/** Answers with the keys, as a JSON Web Key Set. */
export function publishing(keys: readonly SigningKey[], cacheControl = 'public, max-age=3600'): OutgoingHttp {
  return () =>
    Promise.resolve(
      Response.json({ keys: keys.map(({ jwk }) => jwk) }, { headers: { 'cache-control': cacheControl } }),
    );
}

/** Refused as unauthenticated, with no part of the token in the error. */
export async function expectRefused(read: TokenReader, token: string): Promise<void> {
  const error = await read(token).then(
    (identity) => expect.unreachable(`accepted as ${identity?.principal}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: 'ServiceError', code: 'unauthenticated', extensions: {} });
  expect((error as Error).cause).toBeUndefined();
  const shown = inspect(error, { depth: 9 });
  for (const part of token.split('.').filter(({ length }) => length >= 8)) expect(shown).not.toContain(part);
  expect(shown).not.toContain(email);
}
