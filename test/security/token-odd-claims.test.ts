import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ClaimRules, identityOf } from '../../functions/identity/oidc/claims.ts';
import { readToken } from '../../functions/identity/oidc/token-guard.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { cases, forAll, patienceMs, share } from '../support/effort.ts';
import { isGoodClaims, isGoodHeader, oddClaims, oddHeader } from '../support/odd-claims.ts';
import {
  audience,
  type Claims,
  issuer,
  mintRaw,
  segment,
  signingKey,
  TokenWorld,
} from '../support/tokens.ts';

/** The service accepts a token of the issuer only where it follows the rules, which this file states a second time. */

const key = await signingKey('k1');
const header = { alg: 'RS256', kid: 'k1', typ: 'JWT' };
const rules: ClaimRules = {
  audiences: [audience],
  issuers: [issuer],
  authorizedParties: ['party'],
  principalClaim: 'email',
};

/** Tokens that the issuer signs, which takes milliseconds each. The check of their claims alone is drawn more often, below. */
const SIGNED = share(500, 2_000);

/** Whether it was accepted; throws for every failure other than a refusal. */
async function accepts(judge: () => unknown): Promise<boolean> {
  try {
    await judge();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthenticated') return false;
    throw error;
  }
}

test('claims that are signed are accepted where they follow the rules, and nowhere else', {
  timeout: patienceMs,
}, async () => {
  const world = new TokenWorld([key]);
  const read = world.reader(rules);
  let accepted = 0;
  await forAll('odd claims', SIGNED, oddClaims(world.seconds), async (claims) => {
    const expected = isGoodClaims(claims, world.seconds);
    accepted += Number(expected);
    expect(await accepts(() => read(mintRaw(key, header, claims)))).toBe(expected);
  });
  // Otherwise the property would speak of refusals only.
  expect(accepted).toBeGreaterThan(cases(SIGNED) / 100);
  expect(world.fetches).toBe(1);
});

test('a header that is signed is accepted where it follows the rules, and nowhere else', {
  timeout: patienceMs,
}, async () => {
  const world = new TokenWorld([key]);
  const read = world.reader(rules);
  const claims = world.claims({ azp: 'party' });
  await forAll('odd headers', SIGNED, oddHeader('k1'), async (each) => {
    const expected = isGoodHeader(each) && each['kid'] === 'k1';
    expect(await accepts(() => read(mintRaw(key, each, claims)))).toBe(expected);
  });
});

const now = Date.UTC(2026, 0, 1);
const seconds = now / 1000;

/** Whether the judge and a check of claims ever differ. */
async function differs(check: (claims: Claims) => unknown): Promise<boolean> {
  const property = fc.asyncProperty(oddClaims(seconds), async (claims) => {
    return (await accepts(() => check(claims))) === isGoodClaims(claims, seconds);
  });
  return (await fc.check(property, { numRuns: cases(20_000), seed: 1, endOnFailure: true })).failed;
}

async function headerDiffers(check: (header: Claims) => unknown): Promise<boolean> {
  const property = fc.asyncProperty(oddHeader('k1'), async (each) => {
    return (await accepts(() => check(each))) === isGoodHeader(each);
  });
  return (await fc.check(property, { numRuns: cases(20_000), seed: 1, endOnFailure: true })).failed;
}

const checked = (changes: Claims, claims: Claims) => identityOf({ ...claims, ...changes }, rules, now);
const anyTime = (claims: Claims, shifts: readonly number[]) => {
  const tried = shifts.map((shift) => {
    try {
      return identityOf(claims, rules, now + shift * 1000);
    } catch {
      return undefined;
    }
  });
  return tried.find((identity) => identity !== undefined) ?? identityOf(claims, rules, now);
};

describe('the judge agrees with the check, and not with one', () => {
  test('that is whole', async () => {
    expect(await differs((claims) => identityOf(claims, rules, now))).toBe(false);
  });

  const planted: readonly [string, (claims: Claims) => unknown][] = [
    ['that takes any address for verified', (claims) => checked({ email_verified: true }, claims)],
    [
      'that takes "true" for true',
      ({ email_verified: verified, ...claims }) => {
        return checked({ email_verified: String(verified) === 'true' }, claims);
      },
    ],
    ['that tolerates 300 s behind', (claims) => anyTime(claims, [0, -240])],
    ['that tolerates 300 s ahead', (claims) => anyTime(claims, [0, 240])],
    [
      'that tolerates nothing',
      (claims) => {
        if (Number(claims['exp']) <= seconds) throw new ServiceError('unauthenticated', 'No.');
        return checked({}, claims);
      },
    ],
    [
      'that takes a list of audiences',
      ({ aud, ...claims }) => checked({ aud: Array.isArray(aud) ? aud[0] : aud }, claims),
    ],
    [
      'that takes a list of issuers',
      ({ iss, ...claims }) => checked({ iss: Array.isArray(iss) ? iss[0] : iss }, claims),
    ],
    [
      'that takes the beginning of an issuer',
      ({ iss, ...claims }) => {
        return checked({ iss: String(iss).startsWith(issuer) ? issuer : iss }, claims);
      },
    ],
    [
      'that takes another case of an audience',
      ({ aud, ...claims }) => {
        return checked({ aud: typeof aud === 'string' ? aud.toLowerCase() : aud }, claims);
      },
    ],
    [
      'that takes times as texts',
      ({ exp, ...claims }) => checked({ exp: typeof exp === 'string' ? Number(exp) : exp }, claims),
    ],
    [
      'that takes fractions',
      ({ exp, ...claims }) => checked({ exp: typeof exp === 'number' ? Math.floor(exp) : exp }, claims),
    ],
    ['that does not read nbf', (claims) => checked({ nbf: 0 }, claims)],
    ['that does not read azp', (claims) => checked({ azp: 'party' }, claims)],
    ['that does not read the subject', (claims) => checked({ sub: '1' }, claims)],
    [
      'that lets a token live for ever',
      ({ exp, ...claims }) => {
        return checked({ exp: Math.min(Number(exp), Number(claims['iat']) + 3000) }, claims);
      },
    ],
    [
      'that folds the case of an address',
      ({ email, ...claims }) => {
        return checked({ email: typeof email === 'string' ? email.toLowerCase() : email }, claims);
      },
    ],
    [
      'that trims an address',
      ({ email, ...claims }) => checked({ email: typeof email === 'string' ? email.trim() : email }, claims),
    ],
  ];
  test.each(planted)('%s', async (_, check) => {
    expect(await differs(check)).toBe(true);
  });
});

describe('the judge of headers agrees with the guard, and not with one', () => {
  const guard = (each: Claims) => readToken(`${segment(each)}.${segment({})}.AAAA`, 'application');

  test('that is whole', async () => {
    expect(await headerDiffers(guard)).toBe(false);
  });

  const planted: readonly [string, (header: Claims) => unknown][] = [
    ['that does not read alg', (each) => guard({ ...each, alg: 'RS256' })],
    [
      'that takes a list for an alg',
      ({ alg, ...each }) => guard({ ...each, alg: Array.isArray(alg) ? alg[0] : alg }),
    ],
    [
      'that takes a list for a key id',
      ({ kid, ...each }) => guard({ ...each, kid: Array.isArray(kid) ? kid[0] : kid }),
    ],
    ['that does not read typ', ({ typ: _typ, ...each }) => guard(each)],
    [
      'that knows crit only in lower case',
      ({ Crit, ...each }) => guard(Crit === undefined ? each : { ...each, crit: Crit }),
    ],
    ['that passes over b64', ({ b64: _b64, ...each }) => guard(each)],
    ['that passes over an embedded key', ({ jwk: _jwk, ...each }) => guard(each)],
  ];
  test.each(planted)('%s', async (_, check) => {
    expect(await headerDiffers(check)).toBe(true);
  });
});
