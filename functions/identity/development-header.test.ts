import { expect, test } from 'vitest';
import { createDevelopmentIdentity } from './development-header.ts';

const identity = createDevelopmentIdentity({ headerName: 'X-Svc-Development-Identity' });
const identify = (fields: Record<string, string>) =>
  identity.identify(new Map(Object.entries(fields)), { fromAuthorization: true });
const named = (value: string) => identify({ 'x-svc-development-identity': value });

test('the header names the principal as it is written, without surrounding blanks', async () => {
  expect(await named(' Dev@Example.com ')).toEqual({ principal: 'Dev@Example.com', issuedAt: null });
  expect(await named('x'.repeat(254))).toEqual({ principal: 'x'.repeat(254), issuedAt: null });
});

test('an absent or blank header is no credential, also beside other headers', async () => {
  expect(await identify({})).toBeNull();
  expect(await named('  ')).toBeNull();
  expect(await identify({ authorization: 'Bearer a', 'x-forwarded-user': 'a' })).toBeNull();
});

test.each(['x'.repeat(255), 'a b', 'a\tb', 'a\u0000b', 'j\u00fcrgen', '\u200bb'])(
  '%j is refused without quoting it',
  async (value) => {
    const refusal = { code: 'unauthenticated', message: expect.not.stringContaining(value) };
    await expect(named(value)).rejects.toThrow(expect.objectContaining(refusal));
  },
);
