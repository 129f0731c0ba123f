import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { Canaries } from '../../../test/security/canary.ts';
import { filesIn } from '../../../test/security/canary-run.ts';
import { hurried, type RunningService, startService } from '../../../test/support/service.ts';
import {
  json,
  type ModelServer,
  type Received,
  type Reply,
  startModelServer,
} from '../../providers/outgoing/model-server.fixture.ts';

/** A model over the network behind the operations of embeddings. */

let server: ModelServer;
let service: RunningService;
afterEach(async () => {
  await service.close();
  await server.close();
});

/** The vector of a text of length n is [n, 0.5]. */
const answering: Reply = (response, received) => json({ data: vectorsOf(received) })(response, received);

function vectorsOf({ body }: Received) {
  const { input } = JSON.parse(body) as { readonly input: readonly string[] };
  return input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 0.5] }));
}

async function start(replies: readonly Reply[], more: Readonly<Record<string, string>> = {}) {
  server = await startModelServer(...replies);
  const now = Date.now();
  service = await startService({
    // Calls are counted by the minute: none begins between two requests.
    world: { ...hurried, clock: { now: () => now } },
    settings: {
      'Embeddings:Provider': 'mine',
      'Providers:EnableLiveTargets': 'yes',
      'Providers:0:Id': 'mine',
      'Providers:0:Kind': 'openai-compatible',
      'Providers:0:BaseAddress': `http://127.0.0.1:${server.port}/v1`,
      'Providers:0:Model': 'small',
      'Providers:0:Dimensions': '2',
      'Providers:0:PassagePrefix': 'passage: ',
      'Server:LogLevel': 'debug',
      ...more,
    },
  });
}

async function embed(body: unknown) {
  const answer = await service.call({ method: 'POST', path: '/embeddings', body });
  return { ...answer, json: answer.json<Record<string, unknown>>() };
}

test('gives texts the vectors of the model, and pays for a text once', async () => {
  await start([answering], { 'Providers:0:ApiKey': 'k' });
  const request = { texts: ['one', 'passage: two', 'one'], purpose: 'passage' };
  const { status, json: answer } = await embed(request);
  expect(status).toBe(200);
  expect(answer).toMatchObject({
    provider: 'mine',
    modelId: 'small',
    dimensions: 2,
    items: [
      { values: [12, 0.5], prefixApplied: true, preparedTextLength: 12 },
      { values: [12, 0.5], prefixApplied: false },
      { values: [12, 0.5] },
    ],
  });
  expect((await embed(request)).json).toEqual(answer);
  expect(server.received).toHaveLength(1);
  const [received] = server.received;
  expect([received?.url, received?.headers.authorization]).toEqual(['/v1/embeddings', 'Bearer k']);
  expect(JSON.parse(received?.body ?? '')).toMatchObject({ input: ['passage: one', 'passage: two'] });
});

test('reads a key from its file for each call', async () => {
  await start([answering], { 'Providers:0:ApiKeyFile': '/nowhere/key' });
  const file = { status: 502, code: 'provider_failed', failureClass: 'configuration' };
  expect((await embed({ text: 'a' })).json).toMatchObject({ ...file, providerStatus: 'secret_missing' });
  await service.close();
  await server.close();
  const path = join(service.folder, '..', `svc-key-${process.pid}`);
  writeFileSync(path, 'first\n');
  await start([answering], { 'Providers:0:ApiKeyFile': path });
  await embed({ text: 'a' });
  writeFileSync(path, 'second\n');
  await embed({ text: 'b' });
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer first',
    'Bearer second',
  ]);
});

test('is listed as disabled, with the reason, where the service may not call it', async () => {
  const settings = { 'Providers:EnableLiveTargets': 'off', 'Embeddings:Provider': 'local-token-hash' };
  await start([answering], settings);
  const listed = await service.call({ method: 'GET', path: '/embedding-providers' });
  expect(listed.json()).toMatchObject([
    { provider: 'deterministic-hash', enabled: true },
    { provider: 'local-token-hash', enabled: true, active: true },
    {
      provider: 'mine',
      defaultDimensions: 2,
      defaultPassagePrefix: 'passage: ',
      local: false,
      requiresNetwork: true,
      semanticQuality: 'semantic',
      active: false,
      enabled: false,
      disabledReason: 'provider_disabled_by_configuration',
    },
  ]);
  expect((await embed({ text: 'a' })).json).toMatchObject({ provider: 'local-token-hash' });
  expect(server.received).toEqual([]);
});

test('is called as often as the settings allow', async () => {
  await start([answering], { 'Providers:0:CallsPerMinute': '1' });
  expect((await embed({ text: 'a' })).status).toBe(200);
  const refused = await embed({ text: 'b' });
  expect([refused.status, refused.json]).toEqual([
    429,
    expect.objectContaining({ code: 'provider_limit_reached', failureClass: 'rate_limit' }),
  ]);
  expect(Number(new Headers(refused.headers).get('retry-after'))).toBeGreaterThan(0);
  // The stored vector of `a` needs no call.
  expect((await embed({ text: 'a' })).status).toBe(200);
  expect(server.received).toHaveLength(1);
});

test('is not called by the retries of one request more often than the settings allow', async () => {
  await start([json({}, 503)], { 'Providers:0:CallsPerMinute': '2' });
  expect((await embed({ text: 'a' })).json).toMatchObject({ status: 503, providerStatus: 'http_503' });
  expect(server.received).toHaveLength(2);
  expect((await embed({ text: 'a' })).json).toMatchObject({ status: 429, providerStatus: 'rate_limited' });
  expect(server.received).toHaveLength(2);
});

test('is not called for a while after five failures, and health shows it', async () => {
  await start([json({}, 401), json({}, 503)]);
  const statuses: unknown[] = [];
  for (let each = 0; each < 7; each += 1) {
    const { json: problem } = await embed({ text: 'a' });
    statuses.push(problem['providerStatus']);
  }
  expect(statuses).toEqual(['http_401', ...Array(5).fill('http_503'), 'circuit_open']);
  // Each failure that may pass is tried three times.
  expect(server.received).toHaveLength(1 + 5 * 3);
  const health = await service.call({ method: 'GET', path: '/health' });
  expect(health.json()).toMatchObject({
    embedding: { provider: 'mine', modelId: 'small', dimensions: 2, runtime: { local: false } },
  });
});

test('is counted by readiness and named by its hash, and strangers learn no address', async () => {
  await start([answering], { 'Providers:0:ApiKey': 'k' });
  const readiness = await service.call({ method: 'GET', path: '/readiness' });
  expect(readiness.json()).toMatchObject({
    embedding: { provider: 'mine' },
    providers: {
      providerCount: 3,
      capabilityCount: 8,
      callableCapabilityCount: 8,
      readyCapabilityCount: 0,
      unvalidatedCapabilityCount: 8,
      networkProviderCount: 1,
      authProviderCount: 1,
    },
    checks: expect.arrayContaining([
      expect.objectContaining({ id: 'providers.limits', details: { unlimitedProviderCount: 1 } }),
    ]) as unknown,
  });
  const health = await service.call({ method: 'GET', path: '/health' });
  for (const { body } of [readiness, health]) expect(body).not.toMatch(/127\.0\.0\.1|configHash|sha256/);
  const doctor = await service.call({ method: 'GET', path: '/embedding-providers/doctor' });
  expect(doctor.json<{ metadata: object }>().metadata).toMatchObject({
    modelId: 'small',
    configHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as unknown,
  });
  expect(doctor.body).not.toContain('127.0.0.1');
});

const one = (embedding: unknown) => json({ data: [{ index: 0, embedding }] });
const endless: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = () => {
    if (!response.destroyed) response.write(' '.repeat(16_384), () => setImmediate(more));
  };
  more();
};
const redirect: Reply = (response) => {
  response.writeHead(302, { location: 'http://169.254.169.254/computeMetadata/v1/' }).end();
};
const silent: Reply = () => undefined;

describe('L04: a provider that misbehaves', () => {
  test.each<[string, Reply, number, Record<string, unknown>]>([
    ['answers a short vector', one([1]), 502, { failureClass: 'schema', providerStatus: 'vector_length' }],
    ['answers no number', one([1, 'x']), 502, { failureClass: 'schema' }],
    ['answers a number beyond all', one([1, 1e300]), 502, { providerStatus: 'vector_not_finite' }],
    ['answers too many vectors', json({ data: [{}, {}] }), 502, { providerStatus: 'vector_count' }],
    ['answers without an end', endless, 502, { providerStatus: 'output_limit' }],
    ['leads elsewhere (L03)', redirect, 502, { failureClass: 'configuration', providerStatus: 'http_302' }],
    ['refuses the key', json({ error: 'the key k is wrong' }, 401), 502, { failureClass: 'auth' }],
    ['limits its callers', json({}, 429), 503, { code: 'provider_unavailable', providerStatus: 'http_429' }],
    ['breaks', json({}, 500), 503, { providerStatus: 'http_500' }],
    ['says nothing', silent, 503, { failureClass: 'timeout', providerStatus: 'client_timeout' }],
  ])('%s', async (_, reply, status, facts) => {
    // A time below a minute is hurried, and the others need theirs.
    const time = reply === silent ? { 'Providers:0:TimeoutSeconds': '30' } : {};
    await start([reply], { 'Providers:0:ApiKey': 'k', ...time });
    const answer = await embed({ text: 'a secret text' });
    expect([answer.status, answer.json]).toEqual([status, expect.objectContaining(facts)]);
    expect(answer.body).not.toMatch(/the key|secret text|169\.254|127\.0\.0\.1/);
    expect(new Headers(answer.headers).has('retry-after')).toBe(status === 503);
    expect(service.lines.join('\n')).not.toMatch(/the key|secret text|169\.254/);
  });
});

test('J01: neither the key nor a text of a provider is shown, logged or kept', async () => {
  const canaries = new Canaries();
  const key = canaries.make('api-key');
  const text = canaries.make('payload');
  const echo: Reply = (response, received) => {
    const said = { error: { message: `Bearer ${key} may not embed ${received.body}` } };
    json(said, 401, { 'x-said': key })(response, received);
  };
  await start([answering, echo], { 'Providers:0:ApiKey': key });
  const calls = [
    await embed({ text }),
    await embed({ text: `${text} again` }),
    await service.call({ method: 'GET', path: '/embedding-providers' }),
    await service.call({ method: 'GET', path: '/embedding-providers/guidance' }),
    await service.call({ method: 'GET', path: '/embedding-providers/doctor' }),
    await service.call({ method: 'GET', path: '/health' }),
    await service.call({ method: 'GET', path: '/readiness' }),
  ];
  expect(calls.map(({ status }) => status)).toEqual([200, 502, 200, 200, 200, 200, 200]);
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${key}`);
  const places = [
    ...calls.map(({ body, headers }, at) => ({ name: `answer ${at}`, content: body + inspect(headers) })),
    { name: 'log', content: service.lines.join('\n') },
    { name: 'settings', content: inspect(service.settings, { depth: Infinity, showHidden: true }) },
    { name: 'settings as JSON', content: JSON.stringify(service.settings) },
    ...filesIn(service.folder),
  ];
  expect(service.lines.length).toBeGreaterThan(3);
  expect(canaries.hits(places, ['api-key', 'payload'])).toEqual([]);
  // The search finds what is there.
  expect(canaries.hits([{ name: 'request', content: server.received[0]?.body ?? '' }], ['payload'])).toEqual([
    'payload in request',
  ]);
});
