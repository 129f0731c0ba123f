import { createPublicKey } from 'node:crypto';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { OAuth2Client } from 'google-auth-library';
import { decodeJwt, jwtVerify } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { cases, forAll, patienceMs } from '../support/effort.ts';
import { type Mutation, mutate, mutation, mutationKinds } from '../support/token-mutations.ts';
import {
  audience,
  email,
  issuer,
  mint,
  signingKey,
  type TokenReader,
  TokenWorld,
} from '../support/tokens.ts';

/**
 * Of all the tokens that can be made of good ones without the key of the issuer, only the good ones themselves are
 * accepted.
 */

const [key, stranger] = await Promise.all([signingKey('k1'), signingKey('k1')]);
const second = 'second@example.test';

let world: TokenWorld;
/** The tokens that are accepted, and as whom. */
let good: ReadonlyMap<string, string>;
let first: string;
let other: string;
beforeEach(async () => {
  world = new TokenWorld([key]);
  first = await mint(key, world.claims());
  other = await mint(key, world.claims({ email: second, sub: '2' }));
  good = new Map([
    [first, email],
    [other, second],
  ]);
});

/** The fault in how a token was received; `undefined` where there is none. */
async function faultOf(read: TokenReader, token: string): Promise<string | undefined> {
  const principal = good.get(token);
  let error: unknown;
  try {
    const identity = await read(token);
    // No token at all is no credential of this kind.
    if (identity === null) return token.trim() === '' ? undefined : 'it was overlooked';
    return identity.principal === principal ? undefined : `it was accepted as ${identity.principal}`;
  } catch (thrown) {
    error = thrown;
  }
  if (principal !== undefined) return 'a good one was refused';
  if (!(error instanceof ServiceError) || error.code !== 'unauthenticated')
    return `it caused ${String(error)}`;
  const refusalText = `${error.message} ${JSON.stringify(error.extensions)} ${inspect(error.cause)}`;
  return sharesText(refusalText, token) ? 'the refusal quotes it' : undefined;
}

function sharesText(refusalText: string, token: string): boolean {
  return Array.from({ length: Math.max(refusalText.length - 7, 0) }, (_, at) =>
    refusalText.slice(at, at + 8),
  ).some((part) => token.includes(part));
}

const mutationsOfOne = fc.array(mutation, { minLength: 1, maxLength: 3 });

function refusing(read: TokenReader) {
  return async (mutations: readonly Mutation[]) => {
    const token = mutate(first, mutations, { other, stranger });
    const fault = await faultOf(read, token);
    if (fault !== undefined) throw new Error(`${fault}: ${token}`);
  };
}

describe('a mutated token', () => {
  test('is refused as unauthenticated, is not quoted, and fetches keys at most once', {
    timeout: patienceMs,
  }, async () => {
    const read = world.reader();
    expect(await faultOf(read, first)).toBeUndefined();
    expect(await faultOf(read, other)).toBeUndefined();
    expect(world.fetches).toBe(1);
    await forAll('token mutations', 5000, mutationsOfOne, refusing(read));
    expect(world.fetches).toBeLessThanOrEqual(2);
    expect(await faultOf(read, first)).toBeUndefined();
  });

  test('is refused where the platform verifies, too', async () => {
    const read = world.reader({ verification: 'platform' });
    const removed = (token: string) => token.replace(/[^.]*$/, 'SIGNATURE_REMOVED_BY_GOOGLE');
    // A caller who passes the platform can claim anything, so these are the mutations that break the form.
    const textual: readonly Mutation['kind'][] = [
      'padding',
      'plain base64',
      'unused bits',
      'truncation',
      'repetition',
    ];
    const breaking = fc.record({ each: mutation, kind: fc.constantFrom(...textual), at: fc.nat(1) });
    await forAll('token mutations, platform', 1000, breaking, async ({ each, kind, at }) => {
      const token = mutate(removed(first), [{ ...each, kind, at }], { other, stranger });
      if (token !== removed(first)) expect(await faultOf(read, token)).toBeUndefined();
    });
    expect(world.fetches).toBe(0);
  });

  test('differs from the valid one, for every kind of mutation', () => {
    for (const kind of mutationKinds) {
      const tokens = fc
        .sample(mutation, { numRuns: 100, seed: 1 })
        .map((each) => mutate(first, [{ ...each, kind }], { other, stranger }));
      expect(
        tokens.some((token) => !good.has(token)),
        kind,
      ).toBe(true);
    }
  });
});

describe('a reader that is found out is one', () => {
  const publicKey = createPublicKey(key.publicPem);
  const refused = () => new ServiceError('unauthenticated', 'No.');
  const libraryAlone: TokenReader = async (token) => {
    const certificates = { k1: key.publicPem };
    const client = new OAuth2Client();
    const ticket = await client
      .verifySignedJwtWithCertsAsync(token, certificates, audience, [issuer])
      .catch(() => Promise.reject(refused()));
    return { principal: ticket.getPayload()?.email ?? '', issuedAt: null };
  };
  const joseAlone: TokenReader = async (token) => {
    const { payload } = await jwtVerify(token, publicKey, { audience, issuer }).catch(() =>
      Promise.reject(refused()),
    );
    return { principal: String(payload['email']), issuedAt: null };
  };
  const planted: readonly [string, (read: TokenReader) => TokenReader][] = [
    ['that leaves all to google-auth-library', () => libraryAlone],
    ['that leaves all to jose', () => joseAlone],
    ['that skips what is no base64', (read) => (token) => read(token.replace(/[^\w.-]/g, ''))],
    ['that takes both alphabets', (read) => (token) => read(token.replaceAll('+', '-').replaceAll('/', '_'))],
    ['that takes padding', (read) => (token) => read(token.replaceAll('=', ''))],
    ['that trims', (read) => (token) => read(token.trim())],
    [
      'that takes the first three segments',
      (read) => (token) => read(token.split('.').slice(0, 3).join('.')),
    ],
    [
      'that does not mind the unused bits',
      (read) => (token) =>
        read(
          token
            .split('.')
            .map((part) => Buffer.from(part, 'base64url').toString('base64url'))
            .join('.'),
        ),
    ],
    [
      'that verifies nothing',
      () => async (token) => {
        const { email: principal } = await Promise.resolve(token)
          .then(decodeJwt)
          .catch(() => Promise.reject(refused()));
        return { principal: String(principal), issuedAt: null };
      },
    ],
    [
      'that quotes what it refuses',
      (read) => (token) =>
        read(token).catch(() => {
          throw new ServiceError('unauthenticated', `The token ${token} was not accepted.`);
        }),
    ],
    [
      'that fails where there is no JSON',
      (read) => (token) => {
        JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
        return read(token);
      },
    ],
    ['that overlooks what is strange', (read) => (token) => read(token).catch(() => null)],
  ];
  test.each(planted)('%s', { timeout: patienceMs }, async (_, plant) => {
    const outcome = await fc.check(fc.asyncProperty(mutationsOfOne, refusing(plant(world.reader()))), {
      numRuns: cases(5000),
      seed: 1,
      endOnFailure: true,
    });
    expect(outcome.failed).toBe(true);
  });
});
