import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { verifySignature } from './signature.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const signed = (text: string, key: KeyObject = privateKey, algorithm = 'sha256') =>
  `${text}.${sign(algorithm, Buffer.from(text), key).toString('base64url')}`;

describe('a signature', () => {
  test('of the key over header and payload holds', () => {
    expect(() => verifySignature(signed('a.b'), publicKey)).not.toThrow();
  });

  const token = signed('a.b');
  const [header = '', payload = '', signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const refusals: [string, string][] = [
    ['of another key', signed('a.b', other.privateKey)],
    ['of another hash', signed('a.b', privateKey, 'sha512')],
    ['of another payload', `${header}.c.${signature}`],
    ['of another header', `c.${payload}.${signature}`],
    ['of both without their full stop', `ab.${signature}`],
    ['that is empty', `${header}.${payload}.`],
    ['that is shorter', `${header}.${payload}.${bytes.subarray(0, -1).toString('base64url')}`],
    ['that is longer', `${header}.${payload}.${Buffer.concat([bytes, Buffer.of(0)]).toString('base64url')}`],
    ['with a flipped bit', `${header}.${payload}.${flipped(bytes).toString('base64url')}`],
    ['of zeros', `${header}.${payload}.${Buffer.alloc(256).toString('base64url')}`],
    ['of the padding of RSA-PSS', `a.b.${pss('a.b').toString('base64url')}`],
  ];
  test.each(refusals)('%s does not hold', (_, refused) => {
    expect(() => verifySignature(refused, publicKey)).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  });
});

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(17) ^ 1, 17);
  return copy;
}

function pss(text: string): Buffer {
  // 6 is RSA_PKCS1_PSS_PADDING.
  return sign('sha256', Buffer.from(text), { key: privateKey, padding: 6 });
}
