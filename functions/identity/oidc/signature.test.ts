import { generateKeyPairSync } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { verifySignature } from './signature.ts';

/** A library that verifies everything and reads what it likes. */
const { read } = vi.hoisted(() => ({ read: vi.fn<() => string>() }));
vi.mock('./jose.ts', () => ({ compactVerify: () => Promise.resolve({ payload: Buffer.from(read()) }) }));

const { publicKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const signed = { token: 'a.b.c', payload: { sub: '1', list: [1] }, key };

test('what was judged has to be what was verified', async () => {
  read.mockReturnValueOnce('{"list":[1],"sub":"1"}');
  await expect(verifySignature(signed)).resolves.toBeUndefined();
  const others = [
    '',
    '{}',
    '[]',
    '{"sub":"2","list":[1]}',
    '{"sub":"1","list":[2]}',
    '{"sub":"1","list":[1],"more":1}',
    '{"sub":"1","sub":"1","list":[1]}',
  ];
  for (const other of others) {
    read.mockReturnValueOnce(other);
    await expect(verifySignature(signed), other).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  }
});
