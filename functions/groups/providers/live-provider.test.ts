import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import type { ProviderRunJob } from '../../../contracts/generated/models.ts';
import { Canaries } from '../../../test/security/canary.ts';
import { filesIn } from '../../../test/security/canary-run.ts';
import { hurried, type RunningService, startService } from '../../../test/support/service.ts';
import {
  json,
  type ModelServer,
  type Reply,
  startModelServer,
} from '../../providers/outgoing/model-server.fixture.ts';

/** Models over the network behind the operations of providers, and what they may do to the service. */

let server: ModelServer;
let service: RunningService;
afterEach(async () => {
  await service.close();
  await server.close();
});

const KEY = 'sk-of-the-settings';
const saying = (content: string) => json({ choices: [{ finish_reason: 'stop', message: { content } }] });

async function start(replies: readonly Reply[], more: Readonly<Record<string, string>> = {}) {
  server = await startModelServer(...replies);
  service = await startService({
    world: hurried,
    settings: {
      'Providers:EnableLiveTargets': 'yes',
      'Providers:0:Id': 'mine',
      'Providers:0:Kind': 'openai-compatible',
      'Providers:0:BaseAddress': `http://127.0.0.1:${server.port}/v1`,
      'Providers:0:Model': 'm',
      'Providers:0:Capabilities:0': 'ai.chat',
      'Providers:0:Capabilities:1': 'ai.embedding',
      'Providers:0:Dimensions': '2',
      'Providers:0:ApiKey': KEY,
      // Without patience, a temporary failure ends a run like a permanent one.
      'Embeddings:PatienceMinutes': '0',
      'Server:LogLevel': 'debug',
      ...more,
    },
  });
}

const hello = { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'hello' }] } };

async function run(body: object = hello): Promise<ProviderRunJob> {
  const answer = await service.call({ method: 'POST', path: '/providers/mine/run', body });
  expect(answer.status, answer.body).toBe(202);
  const { admission } = answer.json<ProviderRunJob>();
  for (;;) {
    const job = await service.call({ method: 'GET', path: admission.statusUri });
    const view = job.json<ProviderRunJob>();
    if (view.completedAt !== null) return view;
  }
}

test('a run calls the model with the key of the settings, and its trace has the cost', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 500 };
  const message = { content: 'Hi' };
  await start([json({ choices: [{ finish_reason: 'stop', message }], usage })], {
    'Providers:0:InputPrice': '0.15',
    'Providers:0:OutputPrice': '0.6',
  });
  const job = await run();
  expect(job).toMatchObject({ status: 'Succeeded', result: { output: { message: { content: 'Hi' } } } });
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  const trace = await service.call({ method: 'GET', path: `/traces/${job.traceId}` });
  expect(trace.json()).toMatchObject({ resultSummary: { usage: { isReported: true, costUsd: 0.00045 } } });
});

test('a model that asks to wait is asked again inside the time of the run', async () => {
  await start([json({}, 429, { 'retry-after': '1' }), saying('Hi')]);
  expect(await run()).toMatchObject({ status: 'Succeeded' });
  expect(server.received).toHaveLength(2);
});

test('one that asks to wait for longer than the run is not asked again', async () => {
  await start([json({}, 429, { 'retry-after': '120' }), saying('Hi')]);
  // Leave more than a minute: for a shorter time the service does not wait for the provider's pause.
  const job = await run({ ...hello, timeoutSeconds: 90 });
  expect(job).toMatchObject({ status: 'Failed', failureClass: 'rate_limit', providerStatus: 'http_429' });
  expect(job.result?.rejection).toMatchObject({
    retryable: true,
    retryRecommendation: 'retry_after_backoff',
  });
  expect(server.received).toHaveLength(1);
});

const endless: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = () => {
    if (!response.destroyed) response.write(' '.repeat(16_384), () => setImmediate(more));
  };
  more();
};
const silent: Reply = (response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
const vectors = { capability: 'ai.embedding', payload: { texts: ['a'] } };

describe('of a model that is hostile a run tells the failure and nothing else:', () => {
  test.each<[string, Reply, object, object]>([
    [
      'a redirect to the metadata server',
      (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(KEY),
      hello,
      { status: 'NotConfigured', providerStatus: 'http_302' },
    ],
    [
      '200 with HTML',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${KEY}`),
      hello,
      { status: 'Failed', failureClass: 'schema' },
    ],
    ['an endless stream', endless, hello, { status: 'Failed', providerStatus: 'output_limit' }],
    [
      'a body that does not end',
      silent,
      { ...hello, timeoutSeconds: 1 },
      { status: 'TimedOut', failureClass: 'timeout' },
    ],
    [
      'its key in the text of an error',
      json({ error: { message: KEY } }, 401),
      hello,
      { status: 'Failed', failureClass: 'auth' },
    ],
    [
      'a vector of another length',
      json({ data: [{ index: 0, embedding: [1, 2, 3] }] }),
      vectors,
      { status: 'Failed', failureClass: 'schema' },
    ],
    ['no message', json({ choices: [] }), hello, { status: 'Failed', providerStatus: 'unexpected_shape' }],
  ])('%s', async (_, reply, body, expected) => {
    await start([reply]);
    const job = await run(body);
    expect(job).toMatchObject(expected);
    expect(job.result?.output).toEqual({});
    expect(JSON.stringify(job)).not.toMatch(/sk-of|169\.254|127\.0\.0\.1|<p>/);
    expect(service.lines.join('\n')).not.toMatch(/sk-of|169\.254|<p>/);
  });
});

test('a model may not write into its output what only the service knows', async () => {
  await start([saying(`the key is ${KEY}!`)]);
  const job = await run();
  expect(job.status).toBe('Succeeded');
  expect(JSON.stringify(job)).not.toContain(KEY);
});

test('providers over the network are off unless they are enabled', async () => {
  await start([saying('Hi')], { 'Providers:EnableLiveTargets': 'no' });
  expect(await run()).toMatchObject({ status: 'NotConfigured', providerStatus: 'provider_disabled' });
  expect(server.received).toEqual([]);
});

test('the tokens of a day are a budget: over it a run is refused and costs nothing', async () => {
  await start([saying('Hi')], { 'Providers:0:TokensPerDayMax': '5000' });
  expect(await run()).toMatchObject({ status: 'Succeeded' });
  expect(await run()).toMatchObject({
    status: 'Rejected',
    failureClass: 'quota',
    providerStatus: 'budget_spent',
  });
  expect(server.received).toHaveLength(1);
});

test('two instances share one limit: the 61st run of a minute is refused on either', async () => {
  // The minute stands still, so that none begins while the test runs.
  const world = { ...hurried, clock: { now: () => Date.UTC(2026, 0, 1, 12, 0, 30) } };
  const first = await startService({ world });
  const settings = { 'Server:DataDirectory': first.folder };
  const second = await startService({ world, settings });
  const instances = [first, second] as const;
  await start([saying('Hi')]);
  try {
    const path = '/providers/local-token-overlap-reranker';
    const candidates = [{ id: 'a', text: 'A' }];
    const body = { capability: 'ai.rerank', payload: { query: 'a', candidates } };
    for (let at = 0; at < 60; at += 1) {
      const tried = instances[at % 2]?.call({ method: 'POST', path: `${path}/qualify`, body: {} });
      expect((await tried)?.json()).toMatchObject([{ status: 'validated' }]);
    }
    for (const instance of instances) {
      const { admission } = (
        await instance.call({ method: 'POST', path: `${path}/run`, body })
      ).json<ProviderRunJob>();
      let job: ProviderRunJob;
      do {
        const answer = await instance.call({ method: 'GET', path: admission.statusUri });
        job = answer.json<ProviderRunJob>();
      } while (job.completedAt === null);
      expect(job).toMatchObject({
        status: 'Rejected',
        failureClass: 'rate_limit',
        providerStatus: 'rate_limited',
      });
    }
  } finally {
    await second.close();
    await first.close();
  }
});

test('J01: neither the key nor a text of a caller or a provider is shown, logged or kept', async () => {
  const canaries = new Canaries();
  const key = canaries.make('api-key');
  const text = canaries.make('payload');
  const echo: Reply = (response, received) => {
    const said = { error: { message: `Bearer ${key} may not read ${received.body}` } };
    json(said, 401, { 'x-said': key })(response, received);
  };
  await start([echo], { 'Providers:0:ApiKey': key });
  const payload = { messages: [{ role: 'user', content: text }] };
  const job = await run({ ...hello, payload });
  expect(job).toMatchObject({ status: 'Failed', providerStatus: 'http_401' });
  const own = ['', '/doctor', '/readiness', '/quota', '/qualifications', '/models'].map(
    (path) => `/providers/mine${path}`,
  );
  const all = [
    '/providers',
    '/providers/capabilities',
    '/providers/readiness',
    '/providers/doctor',
    '/providers/quotas',
  ];
  const others = [
    '/provider-jobs?includeResult=true',
    '/traces',
    '/health',
    '/readiness',
    `/provider-jobs/${job.id}`,
  ];
  const calls = await Promise.all(
    [...own, ...all, ...others].map((path) => service.call({ method: 'GET', path })),
  );
  calls.push(await service.call({ method: 'POST', path: '/providers/mine/qualify', body: {} }));
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200));
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${key}`);
  const shown = [
    ...calls.map(({ body, headers }, at) => ({ name: `answer ${at}`, content: body + inspect(headers) })),
    { name: 'log', content: service.lines.join('\n') },
    { name: 'settings', content: inspect(service.settings, { depth: Infinity, showHidden: true }) },
  ];
  expect(canaries.hits(shown, ['api-key', 'payload'])).toEqual([]);
  expect(canaries.hits(filesIn(service.folder), ['api-key'])).toEqual([]);
  // The search finds what is there.
  const request = [{ name: 'request', content: server.received[0]?.body ?? '' }];
  expect(canaries.hits(request, ['payload'])).toEqual(['payload in request']);
});
