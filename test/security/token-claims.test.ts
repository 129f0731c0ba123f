import { beforeEach, describe, expect, test } from 'vitest';
import {
  audience,
  type Claims,
  email,
  expectRefused,
  issuer,
  mint,
  mintRaw,
  signingKey,
  type TokenReader,
  TokenWorld,
} from '../support/tokens.ts';

/** Attacks on the claims of the identity token, by the ids of the threat table. All of them are signed. */

const key = await signingKey('k1');
const header = { alg: 'RS256', kid: 'k1', typ: 'JWT' };

const minute = 60;

let world: TokenWorld;
let read: TokenReader;
beforeEach(() => {
  world = new TokenWorld([key]);
  read = world.reader();
});

describe('refused for its claims, before any key is asked for, is', () => {
  const cases: readonly [string, () => Claims][] = [
    ['A08: another issuer', () => ({ iss: 'https://other.test' })],
    ['A08: the issuer by http', () => ({ iss: 'http://issuer.test' })],
    ['A08: the issuer without its scheme', () => ({ iss: 'issuer.test' })],
    ['A08: the issuer with a slash', () => ({ iss: `${issuer}/` })],
    ['A08: the issuer in upper case', () => ({ iss: issuer.toUpperCase() })],
    ['A08: an issuer that begins like ours', () => ({ iss: `${issuer}.evil.test` })],
    ['A08: an issuer that looks like ours', () => ({ iss: issuer.replace('i', 'і') })],
    ['A08: a list with our issuer', () => ({ iss: [issuer] })],
    ['A08: no issuer', () => ({ iss: undefined })],
    ['A09: another audience', () => ({ aud: 'https://other.example' })],
    ['A09: no audience', () => ({ aud: undefined })],
    ['A09: an empty audience', () => ({ aud: '' })],
    ['A09: a list with our audience', () => ({ aud: [audience] })],
    ['A09: a list with our audience and another', () => ({ aud: [audience, 'x'] })],
    ['A09: the beginning of our audience', () => ({ aud: audience.slice(0, -1) })],
    ['A09: our audience and more', () => ({ aud: `${audience}/` })],
    ['A09: our audience in upper case', () => ({ aud: audience.toUpperCase() })],
    ['A11: expired 60 s ago', () => ({ iat: world.seconds - 3600, exp: world.seconds - minute })],
    ['A11: expired 61 s ago', () => ({ iat: world.seconds - 3600, exp: world.seconds - 61 })],
    ['A11: expired 299 s ago', () => ({ iat: world.seconds - 3600, exp: world.seconds - 299 })],
    ['A11: expired 301 s ago', () => ({ iat: world.seconds - 3600, exp: world.seconds - 301 })],
    ['A12: not valid for an hour', () => ({ nbf: world.seconds + 3600 })],
    ['A12: not valid for 61 s', () => ({ nbf: world.seconds + 61 })],
    ['A12: nbf as text', () => ({ nbf: String(world.seconds) })],
    ['A12: nbf of null', () => ({ nbf: null })],
    ['A12: issued in 200 s', () => ({ iat: world.seconds + 200 })],
    ['A12: issued in 61 s', () => ({ iat: world.seconds + 61 })],
    ['A12: valid for 25 h and a second', () => ({ exp: world.seconds + 90_001 })],
    ['A12: valid for two days', () => ({ exp: world.seconds + 172_800 })],
    ['A12: valid for ever', () => ({ exp: 1e308 })],
    ['A12: exp as text', () => ({ exp: String(world.seconds + 3600) })],
    ['A12: exp negative', () => ({ exp: -1 })],
    ['A12: exp of a fraction', () => ({ exp: world.seconds + 0.5 })],
    ['A12: exp of null', () => ({ exp: null })],
    ['A12: exp in a list', () => ({ exp: [world.seconds + 3600] })],
    ['A12: no exp', () => ({ exp: undefined })],
    ['A12: no iat', () => ({ iat: undefined })],
    ['A12: iat as text', () => ({ iat: String(world.seconds) })],
    ['A12: iat negative', () => ({ iat: -1 })],
    ['A12: iat of zero', () => ({ iat: 0 })],
    ['A13: an address that is not verified', () => ({ email_verified: false })],
    ['A13: an address without the claim that it is verified', () => ({ email_verified: undefined })],
    ['A13: verified as text', () => ({ email_verified: 'true' })],
    ['A13: verified as a number', () => ({ email_verified: 1 })],
    ['A14: no address', () => ({ email: undefined })],
    ['A14: an address in a list', () => ({ email: [email] })],
    ['A14: an address in upper case', () => ({ email: email.toUpperCase() })],
    ['A14: an address with one capital', () => ({ email: `C${email.slice(1)}` })],
    ['A14: a look-alike of an address', () => ({ email: email.replace('c', 'с') })],
    ['A14: a look-alike that folds to ASCII', () => ({ email: email.replace('s', '\u017f') })],
    ['A14: an address with a space behind it', () => ({ email: `${email} ` })],
    ['A14: an address with a line end', () => ({ email: `${email}\n` })],
    ['A14: two addresses', () => ({ email: `${email},b@c.test` })],
    ['A14: an address with a name', () => ({ email: `A <${email}>` })],
    ['A14: an address without a domain', () => ({ email: 'caller@' })],
    ['A14: an address of one label', () => ({ email: 'caller@localhost' })],
    ['A14: an address of two @', () => ({ email: `a@${email}` })],
    ['A14: two dots in an address', () => ({ email: email.replace('.', '..') })],
    ['A14: an address of 255 characters', () => ({ email: `${'a'.repeat(245)}@test.test` })],
    ['no subject', () => ({ sub: undefined })],
    ['an empty subject', () => ({ sub: '' })],
    ['a subject that is a number', () => ({ sub: 1 })],
    ['a subject of 256 characters', () => ({ sub: '1'.repeat(256) })],
    ['a subject that is not ASCII', () => ({ sub: '１' })],
  ];
  test.each(cases)('%s', async (_, changes) => {
    await expectRefused(read, mintRaw(key, header, world.claims(changes())));
    expect(world.fetches).toBe(0);
  });

  test('A12: NaN, which no JSON can say', async () => {
    const text = JSON.stringify(world.claims()).replace(/"exp":[0-9]+/, '"exp":NaN');
    await expectRefused(read, mintRaw(key, header, text));
    expect(world.fetches).toBe(0);
  });
});

describe('accepted, just inside the limits, is', () => {
  const cases: readonly [string, () => Claims][] = [
    ['A11: expired 59 s ago', () => ({ iat: world.seconds - 3600, exp: world.seconds - 59 })],
    ['A12: issued in 60 s', () => ({ iat: world.seconds + 60, exp: world.seconds + 3600 })],
    ['A12: valid in 60 s', () => ({ nbf: world.seconds + 60 })],
    [
      'A12: valid for a day and issued 5 min back',
      () => ({ iat: world.seconds - 300, exp: world.seconds + 86_400 }),
    ],
    ['A12: valid for 25 h', () => ({ exp: world.seconds + 90_000 })],
    [
      'A12: issued in 60 s and valid for 25 h',
      () => ({ iat: world.seconds + 60, exp: world.seconds + 90_060 }),
    ],
    ['A14: an address with a tag, as another principal', () => ({ email: 'caller+tag@example.test' })],
    ['A14: an address of another domain, as another principal', () => ({ email: 'caller@other.test' })],
  ];
  test.each(cases)('%s', async (_, changes) => {
    const given = world.claims(changes());
    expect(await read(await mint(key, given))).toMatchObject({ principal: given['email'] });
  });
});

test('A10: without an audience or an issuer the identity does not come to be', () => {
  expect(() => world.oidc()).not.toThrow();
  for (const none of [[], [''], [audience, ' ']]) {
    expect(() => world.oidc({ audiences: none })).toThrow('needs an audience');
    expect(() => world.oidc({ issuers: none })).toThrow('needs an issuer');
  }
});

describe('A15: a token that was issued to a party', () => {
  test('outside of the list is refused, and so is one that does not say', async () => {
    const listed = world.reader({ authorizedParties: ['a', 'b'] });
    for (const azp of ['c', '', 'A', undefined, null, ['a']])
      await expectRefused(listed, mintRaw(key, header, world.claims({ azp })));
    expect(world.fetches).toBe(0);
    expect(await listed(await mint(key, world.claims({ azp: 'b' })))).not.toBeNull();
  });

  test('may be of any where there is no list', async () => {
    expect(await read(await mint(key, world.claims({ azp: 'c' })))).not.toBeNull();
  });
});

test('A23: a token for the audience of another door of the service is refused', async () => {
  const mcp = world.reader({ audiences: ['https://svc.example/mcp'] });
  const forRest = await mint(key, world.claims());
  const forMcp = await mint(key, world.claims({ aud: 'https://svc.example/mcp' }));
  await expectRefused(mcp, forRest);
  await expectRefused(read, forMcp);
  expect(await mcp(forMcp)).not.toBeNull();
  const both = world.reader({ audiences: [audience, 'https://svc.example/mcp'] });
  expect([await both(forRest), await both(forMcp)]).not.toContain(null);
});

describe('the subject as the principal', () => {
  test('needs no address, and reads none', async () => {
    const bySubject = world.reader({ principalClaim: 'sub' });
    for (const changes of [
      { email: undefined, email_verified: undefined },
      { email: 'A@B', email_verified: false },
    ])
      expect(
        await bySubject(await mint(key, world.claims({ ...changes, sub: 'repo:o/r:ref' }))),
      ).toMatchObject({
        principal: 'repo:o/r:ref',
      });
  });
});
