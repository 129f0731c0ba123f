import { request } from 'node:http';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createKeySet } from '../functions/identity/oidc/key-set.ts';
import { createOidcIdentity } from '../functions/identity/oidc/oidc-identity.ts';
import { type OidcIssuer, startOidcIssuer } from './oidc-issuer.ts';

const audience = 'https://svc.example';
const email = 'caller@example.test';
const json = { 'content-type': 'application/json' };

let issuer: OidcIssuer;
beforeEach(async () => {
  issuer = await startOidcIssuer();
});
afterEach(() => issuer.stop());

function ask(body: unknown, headers: Record<string, string> = json): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${issuer.issuer}/token`, { method: 'POST', headers, body: text });
}

/** The status of a request with that Host field. */
function statusFor(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(issuer.keySetUrl, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.once('error', reject).end();
  });
}

/** The service's identity check with this issuer, over a real network and in real time. */
function service() {
  const clock = { now: () => Date.now() };
  const timers = {
    after(delayMs: number, callback: () => void) {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  };
  const identity = createOidcIdentity({
    audiences: [audience],
    issuers: [issuer.issuer],
    authorizedParties: [],
    principalClaim: 'email',
    verification: 'application',
    keys: createKeySet({ url: issuer.keySetUrl, http: (url, init) => fetch(url, init), clock, timers }),
    clock,
  });
  return (token: string) =>
    identity.identify(new Map([['authorization', `Bearer ${token}`]]), { fromAuthorization: true });
}

describe('its tokens', () => {
  test('are accepted by the service', async () => {
    const read = service();
    expect(await read(await issuer.mint({ email, audience }))).toMatchObject({ principal: email });
    const { id_token: token } = (await (await ask({ email, audience })).json()) as { id_token: string };
    expect(await read(token)).toMatchObject({ principal: email });
  });

  test('are accepted across a rotation, and each is signed with the key of its time', async () => {
    const read = service();
    const before = await issuer.mint({ email, audience });
    await read(before);
    await issuer.rotate();
    const after = await issuer.mint({ email, audience });
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid);
    expect(await read(after)).toMatchObject({ principal: email });
    expect(await read(before)).toMatchObject({ principal: email });
  });

  test('are refused by the service of another issuer', async () => {
    const other = await startOidcIssuer();
    const token = await other.mint({ email, audience });
    await other.stop();
    await expect(service()(token)).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  });

  test('are what another library takes for tokens', async () => {
    const keys = createRemoteJWKSet(new URL(issuer.keySetUrl));
    const token = await issuer.mint({ email, audience, expiresInSeconds: 7, authorizedParty: 'p' });
    const { payload } = await jwtVerify(token, keys, {
      issuer: issuer.issuer,
      audience,
      algorithms: ['RS256'],
    });
    expect(payload).toMatchObject({ email, email_verified: true, azp: 'p' });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(7);
  });

  test('can be without an address, of another subject, and of another time', async () => {
    const token = await issuer.mint({ subject: 's', audience, issuedAtSeconds: 1000, expiresInSeconds: 10 });
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toEqual({ iss: issuer.issuer, sub: 's', aud: audience, iat: 1000, exp: 1010 });
  });
});

test('its discovery document names what it serves', async () => {
  const response = await fetch(`${issuer.issuer}/.well-known/openid-configuration`);
  const document = (await response.json()) as Record<string, string>;
  expect(document).toMatchObject({ issuer: issuer.issuer, jwks_uri: issuer.keySetUrl });
  expect((await fetch(document['jwks_uri'] ?? '')).headers.get('cache-control')).toBe('public, max-age=300');
  expect((await ask({ email, audience })).headers.get('cache-control')).toBe('no-store');
});

test('it publishes no private key', async () => {
  const { keys } = (await (await fetch(issuer.keySetUrl)).json()) as { keys: object[] };
  expect(keys.map((key) => Object.keys(key).sort())).toEqual([['alg', 'e', 'kid', 'kty', 'n', 'use']]);
});

describe('a request for a token', () => {
  test('is answered with how long it holds', async () => {
    const response = await ask({ email, audience, expiresInSeconds: 60 });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ token_type: 'Bearer', expires_in: 60 });
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['a list', []],
    ['no address', { audience }],
    ['an address without @', { email: 'a', audience }],
    ['an address that is a list', { email: [email], audience }],
    ['no audience', { email }],
    ['an empty audience', { email, audience: '' }],
    ['a list of audiences', { email, audience: [audience] }],
    ['a member that is not known', { email, audience, sub: '1' }],
    ['__proto__', '{"__proto__":{"email":"a@b.c","audience":"x"}}'],
    ['a time of zero', { email, audience, expiresInSeconds: 0 }],
    ['a time of more than a day', { email, audience, expiresInSeconds: 86_401 }],
    ['a fraction of time', { email, audience, expiresInSeconds: 1.5 }],
    ['a time as text', { email, audience, expiresInSeconds: '60' }],
    ['a time of null', { email, audience, expiresInSeconds: null }],
    ['16 KiB and more', { email, audience: 'x'.repeat(16_384) }],
    ['much more', ' '.repeat(5_000_000)],
  ])('with %s is refused as invalid', async (_, body) => {
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: 'invalid_request',
      error_description: expect.stringMatching(/\.$/),
    });
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'of the type %s, which a web page may send, is refused',
    async (type) => {
      expect((await ask({ email, audience }, { 'content-type': type })).status).toBe(400);
    },
  );
});

describe('the issuer answers', () => {
  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:80'])(
    'a caller that addresses it as %s',
    async (host) => {
      expect(await statusFor(host)).toBe(200);
    },
  );

  test.each([
    'evil.test',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    '10.0.0.1',
    '[::2]',
    'localhost:',
    ' ',
    '::1',
  ])('no caller that addresses it as %s, as a web page would', async (host) => {
    expect(await statusFor(host)).toBe(403);
  });

  test('no web page of another origin', async () => {
    const preflight = { origin: 'https://evil.test', 'access-control-request-method': 'POST' };
    const response = await fetch(`${issuer.issuer}/token`, { method: 'OPTIONS', headers: preflight });
    expect(response.status).toBe(405);
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'example.test', '127.evil.test'])(
    'no caller over the network: it does not listen on %s',
    async (host) => {
      await expect(startOidcIssuer({ host })).rejects.toThrow('loopback only');
    },
  );
});

test('an unknown path is a 404, and a wrong method a 405 that names the right one', async () => {
  expect((await fetch(`${issuer.issuer}/`)).status).toBe(404);
  expect((await fetch(`${issuer.issuer}/keys/`)).status).toBe(404);
  const got = await fetch(`${issuer.issuer}/token?audience=x`);
  expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  const posted = await fetch(issuer.keySetUrl, { method: 'POST', body: '{}' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
});

test('a port that is in use is an error', async () => {
  const port = Number(new URL(issuer.issuer).port);
  await expect(startOidcIssuer({ port })).rejects.toThrow('EADDRINUSE');
});

test('it stops while connections are open', async () => {
  const own = await startOidcIssuer();
  await fetch(own.keySetUrl);
  await own.stop();
  await expect(fetch(own.keySetUrl)).rejects.toThrow('fetch failed');
});
