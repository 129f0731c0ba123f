import { expect, test, vi } from 'vitest';
import { verifySignature } from './signature.ts';

/** A library that verifies everything and reads what it likes. */
const { read } = vi.hoisted(() => ({ read: vi.fn() }));
vi.mock('./auth-library.ts', () => ({
  OAuth2Client: class {
    verifySignedJwtWithCertsAsync() {
      return Promise.resolve({ getPayload: read });
    }
  },
}));

const signed = { token: 'a.b.c', payload: { sub: '1', list: [1] }, kid: 'k', pem: '' };
const rules = { audiences: ['a'], issuers: ['i'] };

test('what was judged has to be what was verified', async () => {
  read.mockReturnValueOnce({ list: [1], sub: '1' });
  await expect(verifySignature(signed, rules)).resolves.toBeUndefined();
  const others = [
    undefined,
    {},
    { sub: '2', list: [1] },
    { sub: '1', list: [2] },
    { sub: '1', list: [1], more: 1 },
  ];
  for (const other of others) {
    read.mockReturnValueOnce(other);
    await expect(verifySignature(signed, rules)).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  }
});
