import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import { type ClaimRules, identityOf } from './claims.ts';

/** Each claim by itself, at its bounds; `test/security/` sends signed tokens through the whole check. */

const NOW = 1_800_000_000;
const rules: ClaimRules = {
  issuers: ['https://issuer.test', 'issuer.test'],
  audiences: ['https://svc.example', 'other'],
  authorizedParties: [],
  principalClaim: 'email',
};
const claims = {
  iss: 'https://issuer.test',
  aud: 'https://svc.example',
  sub: '110169484474386276334',
  email: 'caller@project.iam.gserviceaccount.com',
  email_verified: true,
  iat: NOW - 10,
  exp: NOW + 3590,
};

const read = (changes: object = {}, more: Partial<ClaimRules> = {}) =>
  identityOf({ ...claims, ...changes }, { ...rules, ...more }, NOW * 1000);
const refusal = (changes: object, more: Partial<ClaimRules> = {}) => refusalOf(() => read(changes, more));
const because = (words: string) => ({ code: 'unauthenticated', message: expect.stringContaining(words) });

test('good claims name the principal, and when that was proven', () => {
  expect(read()).toEqual({ principal: claims.email, issuedAt: (NOW - 10) * 1000 });
  expect(read({}, { principalClaim: 'sub' })).toEqual({
    principal: claims.sub,
    issuedAt: (NOW - 10) * 1000,
  });
});

describe('issuer, audience and party', () => {
  test.each(['issuer.test', 'https://issuer.test'])('the issuer %s is one of ours', (iss) => {
    expect(read({ iss }).principal).toBe(claims.email);
  });

  test.each([undefined, null, '', 'https://issuer.test/', ['issuer.test'], 0])(
    'the issuer %j is not',
    (iss) => {
      expect(refusal({ iss })).toEqual(because('another issuer'));
    },
  );

  test.each([undefined, '', ['other'], 'OTHER'])('the audience %j is not us', (aud) => {
    expect(refusal({ aud })).toEqual(because('another audience'));
  });

  test('a party is asked for where some are named, and only there', () => {
    expect(read({ azp: 'anybody' }).principal).toBe(claims.email);
    const authorizedParties = ['client'];
    expect(read({ azp: 'client' }, { authorizedParties }).principal).toBe(claims.email);
    for (const azp of [undefined, 'anybody', ['client']])
      expect(refusal({ azp }, { authorizedParties })).toEqual(because('a party that may not use it'));
  });
});

describe('times', () => {
  const accepted: readonly object[] = [
    { exp: NOW - 59 },
    { iat: NOW + 60, exp: NOW + 100 },
    { nbf: NOW + 60 },
    { nbf: 0 },
    { iat: NOW, exp: NOW + 90_000 },
    { iat: NOW - 300, exp: NOW + 86_400 },
    { iat: 0, exp: 90_000 },
  ];
  test.each(accepted.slice(0, -1))('%o is within them', (changes) => {
    expect(() => read(changes)).not.toThrow();
  });

  test('the epoch is a time', () => {
    expect(identityOf({ ...claims, ...accepted.at(-1), nbf: 0 }, rules, 0).issuedAt).toBe(0);
  });

  test.each([
    [{ exp: NOW - 60 }, 'has expired'],
    [{ iat: NOW + 61, exp: NOW + 100 }, 'not valid yet'],
    [{ nbf: NOW + 61 }, 'not valid yet'],
    [{ iat: NOW, exp: NOW + 90_001 }, 'longer than 25 hours'],
  ])('%o is not: %s', (changes, words) => {
    expect(refusal(changes)).toEqual(because(words));
  });

  test.each([undefined, null, '1800000000', 1.5, -1, 1e308, Number.NaN, true, [NOW]])(
    '%j is no time',
    (time) => {
      for (const name of time === undefined ? ['exp', 'iat'] : ['exp', 'iat', 'nbf'])
        expect(refusal({ [name]: time }), name).toEqual(because('not a whole number of seconds'));
    },
  );
});

describe('a subject', () => {
  test.each(['x', ' ', '~', 'x'.repeat(255)])('may be %j', (sub) => {
    expect(read({ sub }, { principalClaim: 'sub' }).principal).toBe(sub);
  });

  test.each([undefined, null, 1, '', 'x'.repeat(256), 'a\u001f', '\u007f', 'é', 'a\n'])(
    'is not %j',
    (sub) => {
      expect(refusal({ sub })).toEqual(because('no acceptable subject'));
    },
  );
});

describe('an address', () => {
  test('has to be verified', () => {
    for (const email_verified of [undefined, null, false, 'true', 1])
      expect(refusal({ email_verified })).toEqual(because('no verified e-mail address'));
    for (const email of [undefined, null, 1, [claims.email]])
      expect(refusal({ email })).toEqual(because('no verified e-mail address'));
  });

  const longest = `${'a'.repeat(64)}@${'b'.repeat(185)}.com`;

  test.each([
    'a@b.c',
    'first.last@example.com',
    'a.b.c@example.com',
    "o'brien+tag_x-y@example.com",
    '1@2.3',
    'a@sub-domain.example.com',
    'a@x--y.example.com',
    'a@a-b-c.d-e-f.com',
    'a@example.xn--p1ai',
    longest,
  ])('may be %s', (email) => {
    expect(read({ email }).principal).toBe(email);
  });

  test.each([
    '',
    'a',
    '@b.c',
    'a@',
    'a@b',
    'a@b.',
    'a@.c',
    'a@b..c',
    '.a@b.c',
    'a.@b.c',
    'a..b@c.d',
    'A@b.c',
    'a@B.c',
    'a@b.C',
    ' a@b.c',
    'a@b.c ',
    'a@b.c\n',
    'a@b@c.d',
    'a@-b.c',
    'a@b-.c',
    'a@b.-c',
    'a@b.c-',
    'a@b_c.d',
    'a@b.c_d',
    'a.é@b.c',
    'a.!@b.c',
    'é@b.c',
    'a@é.c',
    'a@b.é',
    'a@b-é.c',
    'a@b.c-é',
    '"a b"@c.d',
    'a@[127.0.0.1]',
    `a${longest}`,
  ])('is not %j', (email) => {
    expect(refusal({ email })).toEqual(because('not one of lower-case ASCII'));
  });
});
