import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import { readToken, type Verification } from './token-guard.ts';

/** The form alone, at its bounds; `test/security/` sends signed tokens through the whole check. */

const encode = (text: string) => Buffer.from(text, 'latin1').toString('base64url');
const header = { alg: 'RS256', kid: 'k1', typ: 'JWT' };
const signature = encode('signature');
const removed = 'SIGNATURE_REMOVED_BY_GOOGLE';

function tokenOf(members: object = header, payload: object = { sub: 'a' }, end = signature): string {
  return [encode(JSON.stringify(members)), encode(JSON.stringify(payload)), end].join('.');
}

function expectMalformed(token: string, verification: Verification = 'application'): void {
  expect(refusalOf(() => readToken(token, verification))).toEqual({
    code: 'unauthenticated',
    message: 'The identity token is not well-formed.',
  });
}

test('a token of the form is read', () => {
  expect(readToken(tokenOf(), 'application')).toEqual({ kid: 'k1', payload: { sub: 'a' } });
  for (const typ of [undefined, 'JWT', 'jwt'])
    expect(readToken(tokenOf({ ...header, typ }), 'application').kid).toBe('k1');
});

test('8192 bytes are the most', () => {
  expect(() => readToken(tokenOfLength(8192), 'application')).not.toThrow();
  expectMalformed(tokenOfLength(8193));
});

/** No text of base64url has a length of 4 n + 1, so the key id makes room for a signature that is well-formed. */
function tokenOfLength(length: number): string {
  const tokens = ['k', 'kk', 'kkk'].map((kid) => {
    const start = tokenOf({ ...header, kid }, {}, '');
    return start + 'A'.repeat(length - start.length);
  });
  const found = tokens.find((token) => token.slice(token.lastIndexOf('.') + 1).length % 4 === 0);
  if (found === undefined) throw new Error('no key id makes the room');
  return found;
}

describe('the three parts', () => {
  const [first, second] = tokenOf().split('.');
  test.each([
    '',
    '.',
    '..',
    String(first),
    `${first}.${second}`,
    `${first}.${second}.`,
    `${first}..${signature}`,
    `.${second}.${signature}`,
    `${tokenOf()}.`,
    `${tokenOf()}.${signature}`,
    `${first}.${second}.${signature} `,
    `${first}.${second}.${signature}=`,
    `${first}.${second}.A`,
    `${first}.${second}.AB`,
    `${first}.${encode('[]')}.${signature}`,
    `${first}.${encode('1')}.${signature}`,
    `${encode('null')}.${second}.${signature}`,
  ])('%j is no token', (token) => {
    expectMalformed(token);
  });
});

describe('the signature', () => {
  test('is there where the application verifies', () => {
    expectMalformed(tokenOf(header, {}, removed));
    expectMalformed(tokenOf(header, {}, ''));
  });

  test('was taken out, and nothing else, where the platform did', () => {
    expect(readToken(tokenOf(header, {}, removed), 'platform').kid).toBe('k1');
    for (const end of ['', signature, `${removed}X`, removed.toLowerCase()])
      expectMalformed(tokenOf(header, {}, end), 'platform');
  });
});

describe('the header', () => {
  test.each([undefined, null, 'none', 'rs256', 'RS512', 'PS256', 'HS256', ['RS256']])(
    'with the algorithm %j is refused as such',
    (alg) => {
      expect(refusalOf(() => readToken(tokenOf({ ...header, alg }), 'application'))).toEqual({
        code: 'unauthenticated',
        message: 'The identity token is not signed with RS256.',
      });
    },
  );

  test.each(['x5t', 'x5t#S256'])('may name the key once more, in %s', (member) => {
    const thumbprint = 'eBZ_cn3sXYAd0ch4THBKHIgOwOE';
    expect(readToken(tokenOf({ ...header, [member]: thumbprint }), 'application').kid).toBe('k1');
  });

  test.each(['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'zip', 'enc'])(
    'with %s is refused for any value',
    (member) => {
      for (const value of [null, '', true]) expectMalformed(tokenOf({ ...header, [member]: value }));
    },
  );

  test.each([undefined, null, 1, '', ' ', 'a b', 'k\u0000', '\u007f', 'é', 'x'.repeat(257), ['k1'], {}])(
    'with the key id %j is refused',
    (kid) => {
      expectMalformed(tokenOf({ ...header, kid }));
    },
  );

  test.each(['!', '~', 'x'.repeat(256), '../../k', '__proto__'])('may name the key %s', (kid) => {
    expect(readToken(tokenOf({ ...header, kid }), 'application').kid).toBe(kid);
  });

  test.each(['at+jwt', 'Jwt', '', null])('of the type %j is refused', (typ) => {
    expectMalformed(tokenOf({ ...header, typ }));
  });
});
