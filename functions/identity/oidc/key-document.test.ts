import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { pemOf, signingKey } from '../../../test/support/tokens.ts';
import { readKeyDocument } from './key-document.ts';

const good = await signingKey('good');
const read = (document: unknown) => readKeyDocument(JSON.stringify(document));

/** As Google publishes them: self-signed, of 2048 bits, made for this test and used nowhere. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIC/zCCAeegAwIBAgIUGlihaK3h2EIdtmlOyAM5PR+YhLgwDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEdGVzdDAeFw0yNjExMjExMjA1NDBaFw0zNjExMTgxMjA1
NDBaMA8xDTALBgNVBAMMBHRlc3QwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEK
AoIBAQC3yj93HjVHqwNE2ejBvhw+PNYnyTEOqRRlWBshyMhO38gQU9WG0LVldHHS
8FgJR6sZiRInRKPRbY0tBU5t23sLJZOLmnNEB4PGtrFg3RYILYZV1+naL+GDfi1Z
NO+cYTGJ53H4Hki2KebxNsK1nqJG2hM54v3CwtEgptvqU+yxy3e7gRWZI19iOQJC
7SjaL7Vu9mVIb5B+tT70Ae+p2k8jkfXsswfuK5RTjcKTJk6YrA1EJmPpopzuAGt8
JYZJLslgoAdTkbtLp5RNwULfgCdLjyAmTpwOk4i4jo5ZhHsdmzCtRVPXWNyN0D5z
0JAqQVw5ufWgiOKLaQncdOANRTYnAgMBAAGjUzBRMB0GA1UdDgQWBBTgGhwPBkeC
C1I9N6C7OI2H7nXxBzAfBgNVHSMEGDAWgBTgGhwPBkeCC1I9N6C7OI2H7nXxBzAP
BgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQB+AfvNeonjVRrjj1U5
BVIJMJ4jYAcWS9pRGXDDgk8Zu7roe3hWqJSamtM4L8jIA3o0Qgq4nSaDtsdsGI77
a19Cq9Kk78TO3B4FgFADeUw4v11vRVs1vAQ8f0jK3xP3CC5H6swJFiMbI+rLAInZ
AKSqzk9dQPfoQmlwLkKe4wPQNlp4rG7FzY4gbFNbcLqVVGWmyCvuX+YThoBt1vKt
Q8FHDEgWP3HMkyhptvFMZwLSSeNjulrJ8C6lSmM712p7/P2GAndQY7LSxQjiIxBe
GtZuCBMPtg6WeNl54brkek9oCxK0YDvzU7Ud6+AnpCCgBud7sN9j5C7QlOBw9SBW
37nP
-----END CERTIFICATE-----
`;

describe('a JSON Web Key Set', () => {
  test('gives its keys', () => {
    expect([...read({ keys: [good.jwk] })].map(([kid, key]) => [kid, pemOf(key)])).toEqual([
      ['good', good.publicPem],
    ]);
  });

  test('may leave out what a key is for', () => {
    const { use: _use, alg: _alg, ...bare } = good.jwk;
    expect(read({ keys: [bare] }).size).toBe(1);
  });

  const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
  test.each([
    ['for encryption', { ...good.jwk, use: 'enc' }],
    ['whose operations do not verify', { ...good.jwk, key_ops: ['encrypt'] }],
    ['whose operations are no list', { ...good.jwk, key_ops: 'verify' }],
    ['for another algorithm', { ...good.jwk, alg: 'RS512' }],
    ['that is a shared secret', { kty: 'oct', k: 'c2VjcmV0', kid: 'x' }],
    ['on an elliptic curve', { ...elliptic, kid: 'x' }],
    ['on an elliptic curve that says it is RSA', { ...elliptic, kty: 'RSA', kid: 'x' }],
    ['of 1024 bits', { ...short, kid: 'x' }],
    ['with an exponent of 3', { ...good.jwk, e: 'Aw' }],
    ['without a modulus', { ...good.jwk, n: undefined }],
    ['whose modulus is a number', { ...good.jwk, n: 7 }],
    ['without an id', { ...good.jwk, kid: undefined }],
    ['whose id is a list', { ...good.jwk, kid: ['x'] }],
    ['whose id is empty', { ...good.jwk, kid: '' }],
    ['whose id is not ASCII', { ...good.jwk, kid: 'schlüssel' }],
    ['whose id is too long', { ...good.jwk, kid: 'x'.repeat(257) }],
    ['that is null', null],
    ['that is a text', 'key'],
  ])('passes over a key %s', (_, jwk) => {
    expect([...read({ keys: [jwk, good.jwk] }).keys()]).toEqual(['good']);
    const alone = { keys: [jwk] };
    // One that is no key at all is no statement about keys.
    if (typeof jwk !== 'object' || jwk === null) expect(() => read(alone)).toThrow('no usable key');
    else expect(read(alone).size).toBe(0);
  });

  test('may be empty, which withdraws every key', () => {
    expect(read({ keys: [] }).size).toBe(0);
  });

  test.each([[{}], [{ kty: 1 }], [[]], [{ error: 'busy' }]])('is none where it lists %j', (item) => {
    expect(() => read({ keys: [item] })).toThrow('no usable key');
    expect([...read({ keys: [item, good.jwk] }).keys()]).toEqual(['good']);
  });

  test('keeps the first of two keys of one id', async () => {
    const other = await signingKey('good');
    expect(pemOf(read({ keys: [good.jwk, other.jwk] }).get('good'))).toBe(good.publicPem);
  });

  test('gives nothing away of a private key that was published by mistake', () => {
    const key = read({ keys: [{ ...good.jwk, d: 'AQAB', p: 'AQAB' }] }).get('good');
    expect([key?.type, pemOf(key)]).toEqual(['public', good.publicPem]);
  });
});

describe('an object of key id → PEM', () => {
  test('gives public keys and those of certificates', () => {
    const keys = read({ plain: good.publicPem, certified: certificate, broken: 'PEM', none: null });
    expect([...keys.keys()]).toEqual(['plain', 'certified']);
    for (const key of keys.values()) expect(key.asymmetricKeyType).toBe('rsa');
  });

  test('may name a key __proto__', () => {
    expect([...readKeyDocument(`{"__proto__":${JSON.stringify(good.publicPem)}}`).keys()]).toEqual([
      '__proto__',
    ]);
  });
});

describe('refused is', () => {
  test.each([
    ['a page of HTML', '<!doctype html>'],
    ['nothing', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['a set that is no list', '{"keys":{}}'],
    ['an error', '{"error":{"code":500}}'],
  ])('%s', (_, text) => {
    expect(() => readKeyDocument(text)).toThrow(Error);
  });

  test('a set of more than 100 keys', () => {
    const keys = Array.from({ length: 101 }, (_, at) => ({ ...good.jwk, kid: `k${at}` }));
    expect(() => read({ keys })).toThrow('more than 100');
    expect(read({ keys: keys.slice(1) }).size).toBe(100);
  });
});
