import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contextVerifier } from './external-context.ts';

const NOW = 1_800_000_000;
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rules = { issuer: 'https://context.test', audience: 'svc' };
const claims = { iss: rules.issuer, aud: rules.audience, exp: NOW + 100, iat: NOW - 10 };
const header = { alg: 'ES256', kid: 'one', typ: 'JWT' };

const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' });
const verify = contextVerifier({ ...rules, keys: [{ keyId: 'one', x, y }] });
const segment = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function tokenOf(changes: object = {}, head: object = header, key: KeyObject = pair.privateKey): string {
  const signed = `${segment(head)}.${segment({ ...claims, ...changes })}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

const judged = (token: string) => () => verify(token, '/token', NOW * 1000);
const refusal = (words: string) =>
  expect.objectContaining({
    code: 'validation_failed',
    extensions: { errors: [{ pointer: '/token', detail: expect.stringContaining(words) as string }] },
  });

describe('a proof of an external context', () => {
  test.each([{}, { iat: undefined }, { exp: NOW - 59 }, { iat: NOW + 60 }, { nbf: NOW + 60 }, { more: [1] }])(
    'holds with %j',
    (changes) => {
      expect(judged(tokenOf(changes))).not.toThrow();
    },
  );

  test.each<[object, string]>([
    [{ exp: undefined }, 'missing'],
    [{ exp: String(NOW + 100) }, 'whole number'],
    [{ exp: NOW + 0.5 }, 'whole number'],
    [{ iat: -1 }, 'whole number'],
    [{ exp: NOW - 60 }, 'expired'],
    [{ iat: NOW + 61 }, 'not valid yet'],
    [{ nbf: NOW + 61 }, 'not valid yet'],
    [{ iss: 'https://other.test' }, 'another issuer'],
    [{ iss: undefined }, 'another issuer'],
    [{ aud: 'other' }, 'another audience'],
    [{ aud: ['svc'] }, 'another audience'],
    [{ aud: undefined }, 'another audience'],
  ])('does not hold with %j', (changes, words) => {
    expect(judged(tokenOf(changes))).toThrow(refusal(words));
  });

  test.each<[object, string]>([
    [{ ...header, alg: 'none' }, 'not signed with ES256'],
    [{ ...header, alg: 'HS256' }, 'not signed with ES256'],
    [{ ...header, alg: 'es256' }, 'not signed with ES256'],
    [{ kid: 'one' }, 'not signed with ES256'],
    [{ ...header, kid: 'two' }, 'unknown key'],
    [{ ...header, kid: ['one'] }, 'unknown key'],
    [{ ...header, kid: '__proto__' }, 'unknown key'],
    [{ alg: 'ES256' }, 'unknown key'],
    [{ ...header, typ: 'at+jwt' }, 'other rules'],
    [{ ...header, crit: ['exp'] }, 'other rules'],
    [{ ...header, jwk: other.publicKey.export({ format: 'jwk' }) }, 'other rules'],
    [{ ...header, b64: false }, 'other rules'],
  ])('is refused with the header %j', (head, words) => {
    expect(judged(tokenOf({}, head))).toThrow(refusal(words));
  });

  test('of no algorithm is refused with and without a signature', () => {
    const [, payload = '', signature = ''] = tokenOf().split('.');
    const none = segment({ alg: 'none' });
    for (const token of [`${none}.${payload}.`, `${none}.${payload}`, `${none}.${payload}.${signature}`])
      expect(judged(token)).toThrow(refusal(''));
  });

  test('that another key signed, or the public key as a secret, is refused', () => {
    expect(judged(tokenOf({}, header, other.privateKey))).toThrow(refusal('signature'));
    const signed = tokenOf().split('.', 2).join('.');
    const secret = pair.publicKey.export({ type: 'spki', format: 'pem' });
    const mac = createHmac('sha256', secret).update(signed).digest();
    expect(judged(`${signed}.${Buffer.concat([mac, mac]).toString('base64url')}`)).toThrow(
      refusal('signature'),
    );
    // As libraries were fooled once: r and s of zero.
    expect(judged(`${signed}.${Buffer.alloc(64).toString('base64url')}`)).toThrow(refusal('signature'));
  });

  test('with any character changed is refused', () => {
    const token = tokenOf();
    for (let at = 0; at < token.length; at += 1) {
      const changed = token[at] === 'A' ? 'B' : 'A';
      expect(judged(token.slice(0, at) + changed + token.slice(at + 1)), String(at)).toThrow(refusal(''));
    }
  });

  test.each([
    '',
    '.',
    '..',
    'a.b.c',
    ` ${tokenOf()}`,
    `${tokenOf()}=`,
    `${tokenOf()}.`,
    `${tokenOf()}.${'a'.repeat(4)}`,
    tokenOf({ pad: 'x'.repeat(8_192) }),
    `${segment('{"alg":"ES256","kid":"one","kid":"two"}')}.${tokenOf().split('.').slice(1).join('.')}`,
  ])('%#: what is no token is refused', (token) => {
    expect(judged(token)).toThrow(refusal(''));
  });

  test('needs a key that is a point of the curve', () => {
    const zero = Buffer.alloc(32).toString('base64url');
    expect(() => contextVerifier({ ...rules, keys: [{ keyId: 'k', x: zero, y: zero }] })).toThrow();
  });
});
