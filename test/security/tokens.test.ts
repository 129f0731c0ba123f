import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  audience,
  type Claims,
  email,
  expectRefused,
  mint,
  mintHmac,
  mintRaw,
  segment,
  signingKey,
  type TokenReader,
  TokenWorld,
} from '../support/tokens.ts';

/** Attacks on the form of the identity token, by the ids of the threat table. */

const [key, stranger] = await Promise.all([signingKey('k1'), signingKey('k1')]);
const header = { alg: 'RS256', kid: 'k1', typ: 'JWT' };

let world: TokenWorld;
let read: TokenReader;
beforeEach(() => {
  world = new TokenWorld([key]);
  read = world.reader();
});

test('A22: a token that follows all the rules is accepted, again and again', async () => {
  const token = await mint(key, world.claims());
  const identity = { principal: email, issuedAt: world.seconds * 1000 };
  expect(await read(token)).toEqual(identity);
  // It is a bearer token; what needs more asks for a fresh one.
  expect(await read(token)).toEqual(identity);
  expect(world.fetches).toBe(1);
});

describe('another algorithm is refused, and no key is asked for', () => {
  test('A01: none, without a signature', async () => {
    await expectRefused(read, `${segment({ alg: 'none', kid: 'k1' })}.${segment(world.claims())}.`);
    await expectRefused(read, `${segment({ alg: 'none' })}.${segment(world.claims())}.`);
    expect(world.fetches).toBe(0);
  });

  test.each(['none', 'None', 'NONE', '', null, undefined, ['RS256'], 'rs256', 'RS256 '])(
    'A02: %j, with a signature that holds',
    async (alg) => {
      await expectRefused(read, mintRaw(key, { ...header, alg }, world.claims()));
      expect(world.fetches).toBe(0);
    },
  );

  test('A03: HS256 with the public key as its secret', async () => {
    for (const secret of [key.publicPem, key.publicPem.trim(), JSON.stringify(key.jwk)]) {
      await expectRefused(read, mintHmac(secret, { ...header, alg: 'HS256' }, world.claims()));
      await expectRefused(read, mintHmac(secret, header, world.claims()));
    }
  });

  test.each(['ES256', 'PS256', 'RS384', 'RS512', 'EdDSA'])('A04: %s in the header', async (alg) => {
    await expectRefused(read, mintRaw(key, { ...header, alg }, world.claims()));
    expect(world.fetches).toBe(0);
  });

  test('A04: RS256 in the header, and the signature of another algorithm', async () => {
    const input = `${segment(header)}.${segment(world.claims())}`;
    const bytes = Buffer.from(input);
    const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const pss = { key: key.privatePem, padding: 6, saltLength: 32 };
    for (const signature of [
      sign('sha256', bytes, elliptic),
      sign('sha512', bytes, key.privatePem),
      sign('sha256', bytes, pss),
    ])
      await expectRefused(read, `${input}.${signature.toString('base64url')}`);
  });
});

describe('A05: a key id that is', () => {
  test.each([
    ['missing', undefined],
    ['null', null],
    ['a list with a good one', ['k1']],
    ['a number', 1],
    ['empty', ''],
    ['1 MB long', 'k'.repeat(1_000_000)],
    ['257 characters long', 'k'.repeat(257)],
    ['a good one and a space', 'k1 '],
    ['a good one and NUL', 'k1\0'],
    ['not ASCII', 'k１'],
  ])('%s is refused without asking for keys', async (_, kid) => {
    await expectRefused(read, mintRaw(key, { ...header, kid }, world.claims()));
    expect(world.fetches).toBe(0);
  });

  test('unknown is refused, and makes us ask at most once in 60 s', async () => {
    await read(await mint(key, world.claims()));
    for (const kid of ['unknown', '__proto__', 'constructor', 'toString', '../../x', "' OR 1=1 --", 'K1'])
      await expectRefused(read, mintRaw(key, { ...header, kid }, world.claims()));
    expect(world.fetches).toBe(2);
    world.advance(59_999);
    await expectRefused(read, mintRaw(key, { ...header, kid: 'other' }, world.claims()));
    expect(world.fetches).toBe(2);
  });

  test('known is refused with the signature of another key', async () => {
    await expectRefused(read, await mint(stranger, world.claims()));
  });
});

describe('A06: a token that brings its own key is refused without a request', () => {
  test.each([
    ['jwk', stranger.jwk],
    ['jku', 'https://evil.test/keys'],
    ['x5u', 'https://evil.test/cert'],
    ['x5c', ['MIIB']],
  ])('%s', async (name, value) => {
    await expectRefused(read, mintRaw(stranger, { ...header, [name]: value }, world.claims()));
    await expectRefused(read, mintRaw(key, { ...header, [name]: value }, world.claims()));
    expect(world.fetches).toBe(0);
  });

  // It brings no key: Entra and others write it beside the key id.
  test.each(['x5t', 'x5t#S256'])('but %s only names a key, and is not read', async (name) => {
    const named = { ...header, [name]: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' };
    expect(await read(mintRaw(key, named, world.claims()))).toMatchObject({ principal: email });
    await expectRefused(read, mintRaw(stranger, named, world.claims()));
  });
});

describe('A07: a header that requests other rules is refused', () => {
  test.each([
    ['crit', ['exp']],
    ['crit', []],
    ['crit', null],
    ['b64', false],
    ['b64', true],
    ['zip', 'DEF'],
    ['enc', 'A256GCM'],
    ['cty', 'JWT'],
    ['typ', 'at+jwt'],
    ['typ', 'JOSE'],
    ['typ', null],
    ['typ', ['JWT']],
  ])('%s: %j', async (name, value) => {
    await expectRefused(read, mintRaw(key, { ...header, [name]: value }, world.claims()));
    expect(world.fetches).toBe(0);
  });

  test('a header with further harmless members is not', async () => {
    expect(await read(mintRaw(key, { alg: 'RS256', kid: 'k1', ver: 2 }, world.claims()))).not.toBeNull();
    expect(await read(mintRaw(key, { ...header, typ: 'jwt' }, world.claims()))).not.toBeNull();
  });
});

describe('A16: another spelling of a good token is refused', () => {
  const spellings: readonly [string, (token: string) => string][] = [
    ['a space behind it', (token) => `${token} `],
    ['a space before it', (token) => ` ${token}`],
    ['a line end behind it', (token) => `${token}\n`],
    ['a tab behind it', (token) => `${token}\t`],
    ['a no-break space behind it', (token) => `${token}\u00a0`],
    ['NUL behind it', (token) => `${token}\0`],
    ['padding', (token) => `${token}=`],
    ['much padding', (token) => `${token}==`],
    ['padding of each segment', (token) => token.split('.').join('==.')],
    ['the other alphabet', (token) => token.replaceAll('-', '+').replaceAll('_', '/')],
    ['a character that decoders skip', (token) => `${token.slice(0, 9)}!${token.slice(9)}`],
    ['a space that decoders skip', (token) => `${token.slice(0, -9)} ${token.slice(-9)}`],
    ['unused bits that are not zero', (token) => token.slice(0, -1) + after(token.at(-1) ?? '')],
    ['a fourth segment', (token) => `${token}.`],
    ['a fourth segment that says something', (token) => `${token}.AAAA`],
    ['a dot before it', (token) => `.${token}`],
    ['two segments', (token) => token.split('.').slice(0, 2).join('.')],
    ['no signature', (token) => token.replace(/[^.]*$/, '')],
    ['full-width dots', (token) => token.replaceAll('.', '．')],
  ];
  test.each(spellings)('%s', async (_, change) => {
    const token = await mint(key, world.claims({ sub: 'jjj~~~???>>>' }));
    expect(change(token)).not.toBe(token);
    await expectRefused(read, change(token));
  });

  test('A16: another encoding of the same JSON, signed as it is', async () => {
    const text = JSON.stringify(world.claims());
    for (const odd of [`${text}\0`, `\uFEFF${text}`, `[${text}]`, `${text}${text}`, text.slice(0, -1)])
      await expectRefused(read, mintRaw(key, header, odd));
    expect(world.fetches).toBe(0);
  });

  test('more than 8 KiB, signed as it is', async () => {
    const padded = (size: number) => mintRaw(key, header, world.claims({ more: 'x'.repeat(size) }));
    // Three characters more make a token longer by four.
    const room = Math.floor(((8192 - padded(0).length) * 3) / 4);
    const [fits, tooLong] = [padded(room - 1), padded(room + 3)];
    expect([fits.length <= 8192, fits.length > 8184, tooLong.length > 8192]).toEqual([true, true, true]);
    expect(await read(fits)).not.toBeNull();
    await expectRefused(read, tooLong);
  });

  test('a claim or a header named twice, signed as it is', async () => {
    const text = JSON.stringify(world.claims());
    for (const twice of ['"aud":"x"', `"aud":"${audience}"`, '"\\u0061ud":"x"'])
      await expectRefused(read, mintRaw(key, header, `{${twice},${text.slice(1)}`));
    await expectRefused(
      read,
      mintRaw(key, `{"alg":"none",${JSON.stringify(header).slice(1)}`, world.claims()),
    );
    expect(world.fetches).toBe(0);
  });
});

/** The next character of the base64url alphabet: other bits at the end. */
function after(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet[(alphabet.indexOf(character) + 1) % 64] ?? '';
}

describe('A17: a token whose signature the platform took out', () => {
  const removed = (changes: Claims = {}, head: Claims = header) =>
    `${segment(head)}.${segment(world.claims(changes))}.SIGNATURE_REMOVED_BY_GOOGLE`;

  test('is refused where this application verifies', async () => {
    await expectRefused(read, removed());
    expect(world.fetches).toBe(0);
  });

  test('is accepted where the platform does, and no key is asked for', async () => {
    const platform = world.reader({ verification: 'platform' });
    expect(await platform(removed())).toEqual({ principal: email, issuedAt: world.seconds * 1000 });
    expect(world.fetches).toBe(0);
  });

  test('has to follow all the other rules there too', async () => {
    const platform = world.reader({ verification: 'platform' });
    for (const changes of [
      { aud: 'https://other.example' },
      { iss: 'https://other.test' },
      { exp: world.seconds - 61, iat: world.seconds - 3600 },
      { email_verified: false },
    ])
      await expectRefused(platform, removed(changes));
    await expectRefused(platform, removed({}, { ...header, alg: 'none' }));
    await expectRefused(platform, removed({}, { ...header, crit: ['exp'] }));
  });

  test('is the only kind that is accepted there', async () => {
    const platform = world.reader({ verification: 'platform' });
    for (const token of [await mint(key, world.claims()), removed().toLowerCase(), `${removed()} `])
      await expectRefused(platform, token);
    await expectRefused(platform, removed().replace(/_GOOGLE$/, ''));
  });
});

describe('A18: the field that carries the token', () => {
  const ask = (fields: Record<string, string>, { fromAuthorization } = { fromAuthorization: true }) =>
    world.oidc().identify(new Map(Object.entries(fields)), { fromAuthorization });
  const refusal = expect.objectContaining({ code: 'unauthenticated' });

  test('names its scheme in any case', async () => {
    const token = await mint(key, world.claims());
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(await ask({ authorization: `${scheme} ${token}` })).not.toBeNull();
  });

  test('holds one token, once', async () => {
    const token = await mint(key, world.claims());
    for (const value of [`Bearer Bearer ${token}`, `Bearer ${token}, Bearer ${token}`, `Bearer ${token},`])
      await expect(ask({ authorization: value })).rejects.toThrow(refusal);
  });

  test('that is of another scheme is no credential of this kind', async () => {
    const token = await mint(key, world.claims());
    for (const value of ['Basic YTpi', `Bearer\t${token}`, `Bearer${token}`, token, 'Bearer ', ''])
      expect(await ask({ authorization: value })).toBeNull();
    expect(await ask({})).toBeNull();
  });

  test('B02: is not read where keys are in use', async () => {
    const token = await mint(key, world.claims());
    expect(await ask({ authorization: `Bearer ${token}` }, { fromAuthorization: false })).toBeNull();
    const fields = { 'x-serverless-authorization': `Bearer ${token}`, authorization: 'Bearer key' };
    expect(await ask(fields, { fromAuthorization: false })).not.toBeNull();
  });

  test('B03: is X-Serverless-Authorization if both are present, and the other one is ignored', async () => {
    const mine = await mint(key, world.claims());
    const other = await mint(key, world.claims({ email: 'other@example.test' }));
    const both = { 'x-serverless-authorization': `Bearer ${mine}`, authorization: `Bearer ${other}` };
    expect(await ask(both)).toMatchObject({ principal: email });
    for (const value of ['Basic YTpi', 'Bearer', 'Bearer  ', mine, `Bearer\t${mine}`, 'Bearer x'])
      await expect(ask({ ...both, 'x-serverless-authorization': value })).rejects.toThrow(refusal);
    expect(await ask({ ...both, 'x-serverless-authorization': ' ' })).toMatchObject({
      principal: 'other@example.test',
    });
  });

  test('B05: is no other one', async () => {
    const token = await mint(key, world.claims());
    const names = ['x-forwarded-authorization', 'proxy-authorization', 'x-goog-iap-jwt-assertion'];
    const emails = ['x-forwarded-user', 'x-goog-authenticated-user-email', 'x-apigateway-api-userinfo'];
    for (const name of names) expect(await ask({ [name]: `Bearer ${token}` })).toBeNull();
    for (const name of emails) expect(await ask({ [name]: email })).toBeNull();
  });
});

test('deep nesting that is signed is refused as everything else is', async () => {
  for (const depth of [17, 1000, 2900]) {
    const text = JSON.stringify(world.claims()).replace(
      /}$/,
      `,"x":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    );
    await expectRefused(read, mintRaw(key, header, text));
  }
});
