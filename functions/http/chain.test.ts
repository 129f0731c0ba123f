import { describe, expect, test, vi } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { ValidatorFault } from '../../contracts/validator.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { echoChain, echoHandlers, echoOperations } from '../../test/wire/fixture/echo.ts';
import { createApiKeys, hashApiKey } from '../identity/api-keys.ts';
import { anonymous, createAuthenticator } from '../identity/authenticator.ts';
import { createAuthorizer } from '../identity/authorizer.ts';
import { permissionDenied } from '../identity/grants.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { LogEvent } from '../kernel/log.ts';
import type { ChainOptions } from './chain.ts';
import { type InjectedRequest, type InjectedResponse, inject } from './host-inject.ts';
import { RawBody } from './message.ts';

const path = '/canonical/tenants/t/echo';
const good: InjectedRequest = { method: 'POST', path, body: { a: 1 } };

const secured: Partial<ChainOptions> = {
  authenticator: createAuthenticator({
    apiKeys: createApiKeys({ hashes: ['k1'].map(hashApiKey), headerName: 'X-Svc-Api-Key' }),
    apiKeyRequired: true,
    otherwise: anonymous,
  }),
  authorizer: createAuthorizer(),
};

describe('the order of the steps', () => {
  // Each request breaks one more rule than the one before; the answer must be that of the first rule.
  const limited = { permitLimit: 1, windowSeconds: 60, queueLimit: 0 };
  const broken = { headers: { 'content-type': 'text/plain' }, body: '{' };

  test('too many header fields go before everything', async () => {
    const chain = echoChain({ ...secured, rateLimit: { ...limited, permitLimit: 0 } });
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, '']));
    expect((await inject(chain, { ...good, ...broken, headers })).status).toBe(431);
  });

  test('the rate limit goes before the route, the credential and the body, and no handler runs', async () => {
    const echo = vi.fn(echoHandlers()['echo']);
    const authenticate = vi.fn(() => Promise.resolve(anonymous));
    const chain = echoChain({
      handlers: { ...echoHandlers(), echo },
      authenticator: { authenticate },
      rateLimit: { ...limited, permitLimit: 0 },
    });
    for (const target of [path, '/canonical/unknown', '/canonical']) {
      const answer = await inject(chain, { ...good, ...broken, path: target });
      expect([answer.status, answer.headers['retry-after']]).toEqual([429, '60']);
    }
    expect([echo.mock.calls.length, authenticate.mock.calls.length]).toEqual([0, 0]);
    expect((await inject(chain, { method: 'GET', path: '/' })).status).toBe(200);
  });

  test('a preflight is counted like the request that it announces, under the limited paths only', async () => {
    const origin = 'http://localhost:5173';
    const chain = echoChain({ rateLimit: limited, cors: { allowedOrigins: [origin] } });
    const headers = { origin, 'access-control-request-method': 'POST' };
    const preflight = (target: string) => inject(chain, { method: 'OPTIONS', path: target, headers });
    expect((await preflight('/items/a')).status).toBe(204);
    const first = await preflight(`${path}?a=/b`);
    expect([first.status, first.headers['ratelimit']]).toEqual([204, expect.stringContaining('r=0')]);
    const second = await preflight(path);
    expect([second.status, second.headers['access-control-allow-origin']]).toEqual([429, origin]);
    expect((await inject(chain, good)).status).toBe(429);
    expect((await preflight('/items/a')).status).toBe(204);
  });

  test('a large body and a refused start take more permits, where the class weighs requests', async () => {
    const accepts = () => Promise.resolve(true);
    const refuses = () => Promise.reject(new ServiceError('lease_stale', 'no such lease'));
    const rejected = new ServiceError('handler_missing', 'no such handler', { admission: {} });
    const getItemRejected = () => Promise.reject(rejected);
    const remaining = async (
      isWeighed: boolean,
      request: InjectedRequest,
      isJudged = false,
      judgment = accepts,
    ) => {
      const [getItem] = [echoOperations['getItem']].flatMap((entry) =>
        entry === undefined ? [] : [{ ...entry, rateClass: 'canonical' }],
      );
      if (getItem === undefined) throw new Error('the fixture has no getItem');
      const judged = Object.assign(() => Promise.resolve({ status: 200, body: {} }), {
        judgeBody: judgment,
      });
      const handlers = { ...echoHandlers(), getItem: getItemRejected, ...(isJudged ? { echo: judged } : {}) };
      const chain = echoChain({
        handlers,
        operations: { ...echoOperations, getItem },
        rateLimit: { ...limited, permitLimit: 100, isWeighed },
      });
      const first = await inject(chain, request);
      expect(first.headers['ratelimit']).toContain('r=99;');
      return (await inject(chain, good)).headers['ratelimit'];
    };
    const large = { ...good, body: { a: 'x'.repeat(200_000) } };
    const refusedStart = { method: 'GET', path: '/items/a' };
    expect(await remaining(true, good)).toContain('r=98;');
    expect(await remaining(true, large)).toContain('r=95;');
    expect(await remaining(true, refusedStart)).toContain('r=89;');
    expect(await remaining(true, large, true)).toContain('r=98;');
    // Four pieces of 64 KiB, of which the first is part of the request: three times 32.
    expect(await remaining(true, large, true, refuses)).toContain('r=2;');
    // Its lease is live, and its bytes cannot be read.
    const cutOff = {
      ...good,
      headers: { 'content-type': 'application/json' },
      body: `{"a":"${'x'.repeat(200_000)}`,
    };
    expect(await remaining(true, cutOff, true)).toContain('r=95;');
    expect(await remaining(false, large)).toContain('r=98;');
    expect(await remaining(false, refusedStart)).toContain('r=98;');
  });

  test('a page of an allowed origin may read the header fields of an answer', async () => {
    const origin = 'http://localhost:5173';
    const chain = echoChain({ cors: { allowedOrigins: [origin] } });
    const { headers } = await inject(chain, { ...good, headers: { origin } });
    expect(headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers':
        'X-Correlation-ID, Retry-After, RateLimit, RateLimit-Policy, Location, Idempotency-Replayed, Link, Svc-Truncated, Svc-Unknown-Handlers, ETag, Content-Range, Accept-Ranges, Content-Disposition, X-Svc-Content-Hash, WWW-Authenticate',
    });
    const other = await inject(chain, {
      ...good,
      headers: { origin: 'http://other.example' },
    });
    expect(other.headers).not.toHaveProperty('access-control-expose-headers');
  });

  test('the route goes before the credential', async () => {
    const chain = echoChain(secured);
    expect((await inject(chain, { ...good, ...broken, path: '/unknown' })).status).toBe(404);
    expect((await inject(chain, { ...good, ...broken, method: 'PUT' })).status).toBe(405);
  });

  test('the credential goes before the permission, and both before the body', async () => {
    const chain = echoChain(secured);
    const withKey = (key: string) => ({
      ...good,
      body: '{',
      headers: { 'x-svc-api-key': key, 'content-type': 'text/plain' },
    });
    const unknown = await inject(chain, withKey('k2'));
    expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([401, 'Bearer realm="svc"']);
    // B04: a key alone cannot say for which tenant it speaks.
    expect((await inject(chain, withKey('k1'))).status).toBe(403);
  });

  test('the media type goes before the size, the size before the text, the text before its model', async () => {
    const chain = echoChain();
    const status = async (request: Partial<InjectedRequest>) =>
      (await inject(chain, { ...good, ...request })).status;
    expect(await status(broken)).toBe(415);
    expect(await status({ body: 'x'.repeat(1024 * 1024 + 1) })).toBe(413);
    expect(await status({ body: '[' })).toBe(400);
    expect(codeOf(await inject(chain, { ...good, body: '[1,2]' }))).toBe('validation_failed');
  });
});

describe('what the handler is given', () => {
  const input = async (request: InjectedRequest) =>
    (await inject(echoChain(), request)).json<Record<string, unknown>>();

  test('the members of the route stand in the body, also where it left them out or null', async () => {
    expect(await input(good)).toMatchObject({ body: { a: 1, tenantId: 't' } });
    expect(await input({ ...good, body: { tenantId: null } })).toMatchObject({ body: { tenantId: 't' } });
    expect(await input({ ...good, body: { tenantId: ' t ' } })).toMatchObject({ body: { tenantId: 't' } });
    expect(codeOf(await inject(echoChain(), { ...good, body: { tenantId: 'T' } }))).toBe('tenant_mismatch');
  });

  test('an alias with parameters makes up the body', async () => {
    const body = { tenantId: 't', name: 'n:1', deep: true };
    expect(await input({ method: 'GET', path: `${path}/n%3A1?deep=true` })).toEqual({
      params: { tenantId: 't', name: 'n:1' },
      query: {},
      body,
    });
  });

  test('the Idempotency-Key header stands in for the member, and must not contradict it', async () => {
    const keyed = (key: string, body: object = {}) => ({
      ...good,
      body,
      headers: { 'Idempotency-Key': key },
    });
    expect(await input(keyed('k-1'))).toMatchObject({ body: { idempotencyKey: 'k-1' } });
    expect(await input(keyed('"k-1"', { idempotencyKey: 'k-1' }))).toMatchObject({
      body: { idempotencyKey: 'k-1' },
    });
    expect(codeOf(await inject(echoChain(), keyed('k-1', { idempotencyKey: 'k-2' })))).toBe(
      'validation_failed',
    );
    expect((await inject(echoChain(), keyed('x'.repeat(256)))).status).toBe(400);
  });

  test('a blank Idempotency-Key is an absent one', async () => {
    for (const blank of ['', '  ', '""']) {
      const given = { ...good, body: { a: 1 }, headers: { 'Idempotency-Key': blank } };
      expect((await input(given))?.body).toEqual({ a: 1, tenantId: 't' });
      const keyed = { ...given, body: { idempotencyKey: 'k-1' } };
      expect(await input(keyed)).toMatchObject({ body: { idempotencyKey: 'k-1' } });
    }
  });

  test('a key that belongs into a header may have another name there, or stand in the body', async () => {
    const pointer = '/idempotencyKey';
    const location = { in: 'header', name: 'Idempotency-Key', aliases: ['X-Idempotency-Key'], pointer };
    const echo = { ...echoOperations['echo'], idempotency: { requirement: 'supported', location } };
    const chain = echoChain({ operations: { ...echoOperations, echo: echo as OperationEntry } });
    const given = async (headers: Readonly<Record<string, string>>, body: object = {}) => {
      const answer = await inject(chain, { ...good, headers, body });
      return answer.json<{ body?: { idempotencyKey?: string }; code?: string }>();
    };
    const key = { body: { idempotencyKey: 'k-1' } };
    expect(await given({ 'Idempotency-Key': 'k-1' })).toMatchObject(key);
    expect(await given({ 'X-Idempotency-Key': 'k-1' })).toMatchObject(key);
    expect(await given({ 'X-Idempotency-Key': 'k-2', 'Idempotency-Key': 'k-1' })).toMatchObject(key);
    expect(await given({}, { idempotencyKey: 'k-1' })).toMatchObject(key);
    expect(await given({ 'X-Idempotency-Key': 'k-1' }, { idempotencyKey: 'k-2' })).toMatchObject({
      code: 'validation_failed',
    });
    expect((await given({})).body).not.toHaveProperty('idempotencyKey');
  });

  test('the call carries its time, its correlation id and the caller', async () => {
    const world = new ManualWorld();
    let seen: unknown;
    const getItem = (_input: never, context: unknown) => {
      seen = context;
      return Promise.resolve({ status: 200, body: {} });
    };
    const chain = echoChain({ world, handlers: { ...echoHandlers(), getItem } });
    await inject(chain, { method: 'GET', path: '/items/a', headers: { 'x-correlation-id': 'c-7' } });
    expect(seen).toMatchObject({
      now: world.now,
      correlationId: 'c-7',
      caller: { kind: 'anonymous', principal: null },
    });
  });
});

describe('answers', () => {
  const answering = (body: unknown, validateResponses = true, status = 200) =>
    echoChain({
      handlers: { ...echoHandlers(), getItem: () => Promise.resolve({ status, body }) },
      validators: {
        echo: () =>
          Promise.resolve({
            requestValidators: {},
            responseValidators: { 'getItem:200': Object.assign(hasName, { errors: [] }) },
          }),
      },
      validateResponses,
    });
  const hasName = (value: unknown): value is unknown =>
    typeof value === 'object' && value !== null && 'name' in value;
  const get = { method: 'GET', path: '/items/a' };

  test('an answer that breaks its contract is a fault of ours, where answers are checked', async () => {
    expect((await inject(answering({ name: null }), get)).json()).toEqual({ name: null });
    expect((await inject(answering({ name: undefined }), get)).status).toBe(500);
    expect((await inject(answering({}, false), get)).status).toBe(200);
    expect((await inject(answering({ name: 1 }, true, 201), get)).status).toBe(500);
  });

  test('an item that breaks the model of its list is named, and hides no other', async () => {
    const validator = Object.assign(
      (value: unknown): value is unknown => {
        const { items } = value as { readonly items: readonly { readonly durationMs: number }[] };
        const at = items.findIndex(({ durationMs }) => durationMs < 0);
        const place = { instancePath: `/items/${at}/durationMs`, schemaPath: '#/durationMs/minimum' };
        validator.errors = at < 0 ? [] : [{ ...place, keyword: 'minimum', params: {} }];
        return at < 0;
      },
      { errors: [] as ValidatorFault[] },
    );
    const lines: LogEvent[] = [];
    const body = { items: [-1, 0, 5, -7].map((durationMs, at) => ({ id: `run-${at}`, durationMs })) };
    const entry = echoOperations['getItem'];
    if (!entry) throw new Error('the fixture has no getItem');
    const chain = echoChain({
      operations: { ...echoOperations, getItem: { ...entry, mutation: 'read' } },
      handlers: { ...echoHandlers(), getItem: () => Promise.resolve({ status: 200, body }) },
      validators: {
        echo: () =>
          Promise.resolve({ requestValidators: {}, responseValidators: { 'getItem:200': validator } }),
      },
      validateResponses: true,
      log: (line) => lines.push(line),
    });
    const answer = await inject(chain, get);
    expect([answer.status, answer.headers['svc-faulty-items'], answer.json()]).toEqual([200, '0, 3', body]);
    expect(lines[0]).toMatchObject({
      severity: 'ERROR',
      operation: 'getItem',
      count: 2,
      failure: 'item 0 (run-0): #/durationMs/minimum\nitem 3 (run-3): #/durationMs/minimum',
    });
  });

  test('a header field of the contract is sent, and another one is a fault of the service', async () => {
    const entry = echoOperations['getItem'];
    if (!entry) throw new Error('the fixture has no getItem');
    const [success] = entry.responses;
    const responses = success ? [{ ...success, headers: ['Depot-Hint'] }] : [];
    const carrying = (headers: Readonly<Record<string, string>>) =>
      echoChain({
        operations: { getItem: { ...entry, responses } },
        handlers: { getItem: () => Promise.resolve({ status: 200, body: {}, headers }) },
      });
    const hinted = await inject(carrying({ 'Depot-Hint': 'yes' }), get);
    expect([hinted.status, hinted.headers['depot-hint']]).toEqual([200, 'yes']);
    expect((await inject(carrying({ 'Depot-Other': 'yes' }), get)).status).toBe(500);
  });

  test('a serialized text is sent unchanged', async () => {
    const answer = await inject(answering(new RawBody('application/schema+json', '{"a" :1}')), get);
    expect([answer.headers['content-type'], answer.body]).toEqual(['application/schema+json', '{"a" :1}']);
  });

  test('every answer carries the same fields', async () => {
    for (const request of [get, { method: 'GET', path: '/fail' }, { method: 'GET', path: '/none' }]) {
      const { headers } = await inject(echoChain(), request);
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      expect(headers['x-correlation-id']).toMatch(/^[0-9a-f]{32}$/);
    }
  });
});

describe('composition', () => {
  test('an operation without a handler, and a body without a check, are faults', async () => {
    expect(() => echoChain({ handlers: {} })).toThrow('no handler');
    expect((await inject(echoChain({ validators: {} }), good)).status).toBe(500);
  });

  test('the log tells of each request without anything of the caller', async () => {
    const events: LogEvent[] = [];
    const chain = echoChain({ log: (event) => events.push(event) });
    await inject(chain, { ...good, body: { canary: 's3cret' }, headers: { authorization: 'Bearer s3cret' } });
    await inject(chain, { method: 'GET', path: '/fail?s3cret=1' });
    await inject(chain, { method: 'GET', path: '/fail' });
    expect(
      events.map(({ severity, operation, status, code }) => [severity, operation, status, code]),
    ).toEqual([
      ['INFO', 'echo', 200, undefined],
      ['WARNING', 'fail', 400, 'validation_failed'],
      ['ERROR', 'fail', 500, 'internal_error'],
    ]);
    expect(events[2]?.failure).toMatch(/^Error\nat /);
    expect(JSON.stringify(events)).not.toMatch(/s3cret|SECRET/);
  });

  test('the log names the right and the tenant of a refusal, the answer neither', async () => {
    const events: LogEvent[] = [];
    const refused = () => Promise.reject(permissionDenied({ right: 'write', tenantId: 'acme' }));
    const chain = echoChain({
      handlers: { ...echoHandlers(), getItem: refused },
      log: (event) => events.push(event),
    });
    const answer = await inject(chain, { method: 'GET', path: '/items/a' });
    expect([answer.status, answer.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'permission_denied' }),
    ]);
    expect(answer.body).not.toMatch(/write|acme/);
    expect(events[0]).toMatchObject({ status: 403, right: 'write', tenantId: 'acme' });
  });

  test('the log names the source address of every request, also without a known caller', async () => {
    const events: LogEvent[] = [];
    const chain = echoChain({ ...secured, log: (event) => events.push(event), trustedProxyHops: 1 });
    const from = { socketAddress: '192.0.2.1' };
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, '']));
    await inject(chain, { ...good, ...from });
    await inject(chain, { ...good, ...from, headers: { ...forwarded, 'x-svc-api-key': 'k2' } });
    await inject(chain, { ...good, ...from, headers: { ...forwarded, 'x-svc-api-key': 'k1' } });
    await inject(chain, { ...good, ...from, path: '/unknown' });
    await inject(chain, { ...good, ...from, headers: many });
    expect(events.map(({ status, sourceAddress }) => [status, sourceAddress])).toEqual([
      [401, '192.0.2.1'],
      [401, '203.0.113.9'],
      [403, '203.0.113.9'],
      [404, '192.0.2.1'],
      [431, '192.0.2.1'],
    ]);
  });

  test('the table of the fixture has each kind of route', () => {
    const routes = Object.values(echoOperations).flatMap((entry) => entry.routes);
    expect(routes.some((route) => route.bodyFromParameters)).toBe(true);
  });
});

function codeOf(answer: InjectedResponse): unknown {
  return answer.json<{ code?: unknown }>().code;
}
