import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashApiKey } from '../../functions/identity/api-keys.ts';
import {
  type Grant,
  grantSettings,
  type IssuedService,
  serviceAudience,
  startIssuedService,
} from '../support/issued-service.ts';
import { type RunningService, startService } from '../support/service.ts';

const writer = 'writer@project.example';
const reader = 'reader@project.example';
const grants: readonly Grant[] = [
  { principal: writer, tenants: ['acme'], operations: ['read', 'write'] },
  { principal: reader, tenants: ['*'], operations: ['read'] },
];

const commit = (tenantId: string, headers: Record<string, string> | [string, string][]) => ({
  method: 'POST',
  path: `/canonical/tenants/${tenantId}/transactions`,
  headers,
  body: {
    idempotencyKey: crypto.randomUUID(),
    actor: 'somebody',
    outbox: [{ topic: 't', key: 'k', payload: {} }],
  },
});

let service: IssuedService;
let keyed: IssuedService;
const apiKey = 'one-api-key';
beforeAll(async () => {
  service = await startIssuedService(grants, { 'Server:LogLevel': 'info' });
  keyed = await startIssuedService(grants, { 'Server:ApiKeyHashes:0': hashApiKey(apiKey) });
});
afterAll(async () => {
  await Promise.all([service.close(), keyed.close()]);
});

const tokenOf = ({ issuer }: IssuedService, email: string, audience = serviceAudience) =>
  issuer.mint({ email, audience });
const bearer = async (email: string, audience?: string) => ({
  authorization: `Bearer ${await tokenOf(service, email, audience)}`,
});

describe('a service with identity policies', () => {
  test('accepts the callers of a grant, for its operations and scopes', async () => {
    expect((await service.call(commit('acme', await bearer(writer)))).status).toBe(200);
    const refusals = [
      await service.call(commit('other', await bearer(writer))),
      await service.call(commit('acme', await bearer(reader))),
      await service.call(commit('acme', await bearer('stranger@project.example'))),
    ];
    for (const answer of refusals) {
      expect(answer.json()).toMatchObject({ status: 403, code: 'permission_denied' });
    }
  });

  test('D08: the actor is the verified principal and never a name from the body', async () => {
    const answer = await service.call(commit('acme', await bearer(writer)));
    expect(answer.json()).toMatchObject({ actor: writer });
  });

  test('D11: a refusal is the same whether or not the tenant exists', async () => {
    const [existing, absent] = [
      await service.call(commit('acme', await bearer(reader))),
      await service.call(commit(`absent-${crypto.randomUUID()}`, await bearer(reader))),
    ];
    const telling = ({ correlationId: _id, instance: _instance, ...rest }: Record<string, unknown>) => rest;
    expect(telling(absent.json())).toEqual(telling(existing.json()));
    const names = (headers: Readonly<Record<string, string>>) => Object.keys(headers).sort();
    expect(names(absent.headers)).toEqual(names(existing.headers));
  });

  test('a missing credential is 401 with the accepted scheme', async () => {
    const answer = await service.call(commit('acme', {}));
    expect(answer.json()).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(answer.headers['www-authenticate']).toContain('Bearer');
  });

  test('A23: a token made for another audience is refused', async () => {
    for (const audience of ['https://mcp.example', `${serviceAudience}/`, serviceAudience.toUpperCase()]) {
      expect((await service.call(commit('acme', await bearer(writer, audience)))).status).toBe(401);
    }
  });

  test('A22: a token that is used again from another address is accepted, and the log has the address', async () => {
    const headers = await bearer(writer);
    for (const socketAddress of ['192.0.2.1', '198.51.100.7']) {
      expect((await service.call({ ...commit('acme', headers), socketAddress })).status).toBe(200);
    }
    const seen = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const sourceAddress of ['192.0.2.1', '198.51.100.7']) {
      expect(seen).toContainEqual(expect.objectContaining({ principal: writer, sourceAddress }));
    }
  });

  test('A18: one credential in one header, the scheme in any case', async () => {
    const token = await tokenOf(service, writer);
    const status = async (headers: [string, string][]) =>
      (await service.call(commit('acme', headers))).status;
    expect(await status([['authorization', `bearer ${token}`]])).toBe(200);
    expect(await status([['AUTHORIZATION', `BEARER ${token}`]])).toBe(200);
    const twice: [string, string][] = [
      ['authorization', `Bearer ${token}`],
      ['Authorization', `Bearer ${token}`],
    ];
    expect(await status(twice)).toBe(400);
    for (const value of [
      `Bearer Bearer ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer\t${token}`,
      `Basic ${token}`,
    ]) {
      expect(await status([['authorization', value]]), value.slice(0, 20)).toBe(401);
    }
    const serverless: [string, string][] = [
      ['x-serverless-authorization', `Bearer ${token}`],
      ['X-Serverless-Authorization', `Bearer ${token}`],
    ];
    expect(await status(serverless)).toBe(400);
  });

  test('B03: of two identities the one in X-Serverless-Authorization counts, never a mix', async () => {
    const [own, other] = [await tokenOf(service, writer), await tokenOf(service, reader)];
    const both = (serverless: string, authorization: string) =>
      service.call(
        commit('acme', {
          'x-serverless-authorization': `Bearer ${serverless}`,
          authorization: `Bearer ${authorization}`,
        }),
      );
    expect((await both(own, other)).json()).toMatchObject({ actor: writer });
    expect((await both(other, own)).status).toBe(403);
    // One that does not hold is not forgiven for the sake of the other.
    expect((await both('broken', own)).status).toBe(401);
  });

  test('B05: headers of a proxy about the caller are not trusted', async () => {
    const stolen = {
      'x-forwarded-user': writer,
      'x-forwarded-email': writer,
      'x-goog-authenticated-user-email': `accounts.google.com:${writer}`,
      'x-goog-iap-jwt-assertion': await tokenOf(service, writer),
      'x-apigateway-api-userinfo': Buffer.from(JSON.stringify({ email: writer })).toString('base64url'),
      'x-svc-development-identity': writer,
    };
    expect((await service.call(commit('acme', stolen))).status).toBe(401);
    const mixed = { ...stolen, ...(await bearer(reader)) };
    expect((await service.call(commit('acme', mixed))).status).toBe(403);
  });

  test('an outage of the issuer is 503 before any key is known, and unnoticed after', async () => {
    const own = await startIssuedService(grants);
    const token = await tokenOf(own, writer);
    await own.issuer.stop();
    const headers = { authorization: `Bearer ${token}` };
    const answer = await own.call(commit('acme', headers));
    expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
    await own.close();
    const known = await startIssuedService(grants);
    const [first, second] = [await tokenOf(known, writer), await tokenOf(known, writer)];
    expect((await known.call(commit('acme', { authorization: `Bearer ${first}` }))).status).toBe(200);
    await known.issuer.stop();
    expect((await known.call(commit('acme', { authorization: `Bearer ${second}` }))).status).toBe(200);
    await known.close();
  });
});

describe('identity and API keys together', () => {
  test('B01: the key in its header and the token in X-Serverless-Authorization', async () => {
    const serverless = `Bearer ${await tokenOf(keyed, writer)}`;
    const headers = { 'x-svc-api-key': apiKey, 'x-serverless-authorization': serverless };
    expect((await keyed.call(commit('acme', headers))).status).toBe(200);
    const asBearer = { authorization: `Bearer ${apiKey}`, 'x-serverless-authorization': serverless };
    expect((await keyed.call(commit('acme', asBearer))).status).toBe(200);
    expect((await keyed.call(commit('acme', { 'x-serverless-authorization': serverless }))).status).toBe(401);
  });

  test('B02: a token in Authorization is an attempt at a key', async () => {
    const authorization = `Bearer ${await tokenOf(keyed, writer)}`;
    expect((await keyed.call(commit('acme', { authorization }))).status).toBe(401);
  });

  test('a token in Authorization is the identity where the key came in its own header', async () => {
    const withKey = (authorization: string) =>
      keyed.call(commit('acme', { authorization, 'x-svc-api-key': apiKey }));
    expect((await withKey(`Bearer ${await tokenOf(keyed, writer)}`)).json()).toMatchObject({ actor: writer });
    expect((await withKey('Bearer broken')).status).toBe(401);
    const wrongKey = { authorization: `Bearer ${await tokenOf(keyed, writer)}`, 'x-svc-api-key': 'wrong' };
    expect((await keyed.call(commit('acme', wrongKey))).status).toBe(401);
  });

  test('B04: a key alone cannot say for which tenant it speaks', async () => {
    expect((await keyed.call(commit('acme', { 'x-svc-api-key': apiKey }))).status).toBe(403);
  });

  test('C06: a key in the query is refused, and not logged', async () => {
    const request = commit('acme', {});
    const answer = await keyed.call({ ...request, path: `${request.path}?api_key=${apiKey}&key=${apiKey}` });
    expect(answer.status).toBe(401);
    expect(keyed.lines.join('\n') + answer.body).not.toContain(apiKey);
  });
});

describe('development-header', () => {
  test('A24: names the principal in Development, with its policies', async () => {
    const open = await startService({
      settings: {
        'Server:CanonicalAccess:AuthenticationMode': 'development-header',
        ...grantSettings(grants),
      },
    });
    const as = (name: string) => open.call(commit('acme', { 'x-svc-development-identity': name }));
    expect((await as(writer)).json()).toMatchObject({ actor: writer });
    expect((await as(reader)).status).toBe(403);
    expect((await open.call(commit('acme', {}))).status).toBe(401);
    await open.close();
  });
});

describe('an authenticator of your own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-authenticator-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const services: RunningService[] = [];
  afterAll(() => Promise.all(services.map((each) => each.close())));

  async function withModule(source: string, suffix = ''): Promise<RunningService> {
    const path = join(folder, `${crypto.randomUUID()}.mjs`);
    writeFileSync(path, source);
    const started = await startService({
      settings: {
        Environment: 'Production',
        'Server:CanonicalAccess:AuthenticationMode': 'gateway',
        'Server:CanonicalAccess:AuthenticatorType': `${path}${suffix}`,
        ...grantSettings(grants),
      },
    });
    services.push(started);
    return started;
  }

  test('is a class of a module, and the same policies apply', async () => {
    const own = await withModule(
      `export class Gateway { authenticate({ header }) { return header('x-signed-by-gateway') ?? null; } }`,
      '#Gateway',
    );
    const as = (name: string) => own.call(commit('acme', { 'x-signed-by-gateway': name }));
    expect((await as(writer)).json()).toMatchObject({ actor: writer });
    expect((await as(reader)).status).toBe(403);
    // The names that it gives are its own, and taken as they are.
    expect((await as(writer.toUpperCase())).status).toBe(403);
    expect((await own.call(commit('acme', {}))).status).toBe(401);
  });

  test('A25: one that throws, says nothing or contradicts itself authenticates no caller', async () => {
    const throwing = await withModule(`export default { authenticate() { throw new Error('hush'); } };`);
    const blank = await withModule(`export default { authenticate: () => '  ' };`);
    const fickle = await withModule(
      `let n = 0; export default { authenticate: ({ header }) => (header('x-a'), n++ % 2 ? 'other' : '${writer}') };`,
    );
    const headers = { 'x-a': '1' };
    const thrown = await throwing.call(commit('acme', headers));
    expect(thrown.status).toBe(401);
    expect(thrown.body + throwing.lines.join('')).not.toContain('hush');
    expect((await blank.call(commit('acme', headers))).status).toBe(401);
    expect((await fickle.call(commit('acme', headers))).status).toBe(200);
    expect((await fickle.call(commit('acme', headers))).status).toBe(503);
  });

  test('one that cannot be loaded stops the start with the reason', async () => {
    await expect(withModule('syntax error', '')).rejects.toThrow(/The authenticator .* cannot be used/);
    await expect(withModule('export const nothing = 1;')).rejects.toThrow(/cannot be used/);
    const missing = { 'Server:CanonicalAccess:AuthenticatorType': './none.mjs' };
    const settings = { Environment: 'Production', ...grantSettings(grants), ...missing };
    await expect(startService({ settings })).rejects.toThrow(/none\.mjs cannot be used/);
  });
});
