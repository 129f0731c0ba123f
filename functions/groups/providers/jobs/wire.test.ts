import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProviderRunJob } from '../../../../contracts/generated/models.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';

/** Provider jobs over HTTP. Every answer is checked against its model. */

const LOCAL = 'local-deterministic-ai';
const JOBS = '/provider-jobs';
const hello = { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'hello' }] } };
const rerank = {
  capability: 'ai.rerank',
  payload: {
    query: 'annual report',
    candidates: [
      { id: 'a', text: 'A letter' },
      { id: 'b', text: 'The annual report' },
    ],
  },
};

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path, body, headers });
const start = (body: unknown, headers?: Readonly<Record<string, string>>) =>
  post(`/providers/${LOCAL}/jobs`, body, headers);
const read = (path: string) => service.call({ method: 'GET', path });

async function ended({ admission: { statusUri } }: ProviderRunJob): Promise<ProviderRunJob> {
  for (;;) {
    const job = (await read(statusUri)).json<ProviderRunJob>();
    if (!['Queued', 'Running'].includes(job.status)) return job;
  }
}

async function result(body: unknown): Promise<ProviderRunJob> {
  const answer = await start(body);
  expect(answer.status, answer.body).toBe(202);
  return ended(answer.json<ProviderRunJob>());
}

test.each(['run', 'jobs'])(
  'POST %s answers where the job is, and getProviderRunJob its result',
  async (route) => {
    const answer = await post(`/providers/local-token-overlap-reranker/${route}`, rerank, {
      'X-Correlation-Id': 'of-the-call',
    });
    const job = answer.json<ProviderRunJob>();
    expect(answer.status).toBe(202);
    expect(answer.headers).toMatchObject({ location: `${JOBS}/${job.id}` });
    const operationId = route === 'run' ? 'runProviderCapability' : 'startProviderRunJob';
    expect(job).toMatchObject({ admission: { operationId }, mode: 'advisory', correlationId: 'of-the-call' });
    const done = await ended(job);
    expect(done).toMatchObject({
      status: 'Succeeded',
      providerStatus: 'ok',
      failureClass: null,
      result: { output: { items: [{ id: 'b', rank: 1, score: 1 }, { id: 'a' }] }, rejection: null },
    });
    const trace = (await read(`/traces/${done.traceId}`)).json<object>();
    expect(trace).toMatchObject({
      operation: 'provider.run',
      request: { jobId: job.id, payloadHash: done.requestHash, correlationId: 'of-the-call' },
    });
    expect(JSON.stringify(trace)).not.toContain('annual report');
  },
);

test('a request with the same key answers the first job, and another request is refused', async () => {
  const key = { 'Idempotency-Key': 'k' };
  const first = (await start(hello, key)).json<ProviderRunJob>();
  const again = await start(hello, key);
  expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
  expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
  const other = await start({ ...hello, mode: 'review' }, key);
  expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
});

describe('a run that is refused is a job with the reason', () => {
  test.each<[string, object, string, string]>([
    ['another capability', { ...hello, capability: 'ai.sing' }, 'Unsupported', 'unsupported_capability'],
    ['another operation', { ...hello, operation: 'stop' }, 'Unsupported', 'unsupported_operation'],
    ['another mode', { ...hello, mode: 'autonomous' }, 'Rejected', 'unknown_mode'],
    ['no messages', { ...hello, payload: { messages: [] } }, 'Rejected', 'invalid_request'],
    ['a time of nothing', { ...hello, timeoutSeconds: 0 }, 'Rejected', 'invalid_timeout'],
    ['too long a time', { ...hello, timeoutSeconds: 301 }, 'Rejected', 'timeout_exceeds_policy'],
    ['another model', { ...hello, modelId: 'gpt' }, 'Rejected', 'model_not_allowed'],
    [
      'a payload beyond its mode',
      { ...hello, payload: { messages: [{ role: 'user', content: 'x'.repeat(70_000) }] } },
      'Rejected',
      'input_limit',
    ],
  ])('%s', async (_, body, status, providerStatus) => {
    const job = await result(body);
    expect(job).toMatchObject({ status, providerStatus, admission: { status: 'accepted' } });
    expect(job.result?.rejection).toMatchObject({ category: providerStatus, contentUsable: false });
  });
});

test('listProviderRunJobs names its next page, shows one provider, and results where they are asked for', async () => {
  await result(hello);
  await result({ ...hello, mode: 'autonomous' });
  const seen: string[] = [];
  let path: string | undefined = `${JOBS}?limit=3&includeResult=true&provider=${LOCAL}`;
  while (path !== undefined) {
    const page = await read(path);
    const jobs = page.json<ProviderRunJob[]>();
    expect(jobs.length).toBeLessThanOrEqual(3);
    for (const { id, provider, result: shown } of jobs) {
      expect([provider, shown?.provider]).toEqual([LOCAL, LOCAL]);
      seen.push(id);
    }
    path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
  }
  const all = (await read(`${JOBS}?limit=200`)).json<ProviderRunJob[]>();
  expect(all.length).toBeGreaterThan(seen.length);
  expect(seen).toEqual(all.filter(({ provider }) => provider === LOCAL).map(({ id }) => id));
  expect(all.every((job) => job.result === null)).toBe(true);
  expect((await read(`${JOBS}?provider=none`)).json()).toEqual([]);
  const query = [
    'limit=0',
    'limit=201',
    'limit=x',
    'includeResult=maybe',
    'continuationToken=x',
    'provider=',
  ];
  for (const each of query) expect((await read(`${JOBS}?${each}`)).status, each).toBe(400);
});

test('a token of one list is none of another', async () => {
  const page = await read(`${JOBS}?limit=1&provider=${LOCAL}`);
  const next = /<([^>]+)>/.exec(page.headers['link'] ?? '')?.[1] ?? '';
  expect((await read(next)).status).toBe(200);
  const other = next.replace(`provider=${LOCAL}`, 'provider=local-token-overlap-reranker');
  expect((await read(other)).json()).toMatchObject({ code: 'continuation_token_invalid' });
});

test('cancelProviderRunJob marks a finished job, and knows no other', async () => {
  const done = await result(hello);
  const path = `${JOBS}/${done.id}`;
  const cancelled = await service.call({ method: 'DELETE', path });
  expect([cancelled.status, cancelled.json()]).toEqual([200, { ...done, cancellationRequested: true }]);
  for (const method of ['GET', 'DELETE']) {
    const unknown = await service.call({ method, path: `${JOBS}/unknown` });
    expect([unknown.status, unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
  }
  // A run that is no provider job is none here either.
  const { id } = (await post('/collections', { name: 'c' })).json<{ id: string }>();
  expect((await read(`${JOBS}/${id}`)).status).toBe(404);
});

describe('a request that is refused starts no job', () => {
  test.each<[string, unknown, number, string]>([
    ['without a capability', { payload: {} }, 400, 'validation_failed'],
    ['without a payload', { capability: 'ai.chat' }, 400, 'validation_failed'],
    ['with a list for a payload', { capability: 'ai.chat', payload: [] }, 400, 'validation_failed'],
    ['with an unknown member', { ...hello, stream: true }, 400, 'validation_failed'],
    ['for another provider', { ...hello, provider: 'other' }, 400, 'validation_failed'],
    ['with half a character', { ...hello, payload: { messages: '\ud800' } }, 400, 'malformed_request'],
    ['with too many references', { ...hello, contextRefs: Array(65).fill('r') }, 400, 'limit_exceeded'],
    ['with 1.2 MB of payload', { ...hello, payload: { x: 'x'.repeat(1_200_000) } }, 400, 'limit_exceeded'],
    ['with 2 MB', { ...hello, payload: { x: 'x'.repeat(2_000_000) } }, 413, 'payload_too_large'],
  ])('%s', async (_, body, status, code) => {
    const before = (await read(`${JOBS}?limit=200`)).json<ProviderRunJob[]>().length;
    const answer = await start(body);
    expect([answer.status, answer.json()]).toMatchObject([status, { code }]);
    expect((await read(`${JOBS}?limit=200`)).json<ProviderRunJob[]>()).toHaveLength(before);
  });

  test('a provider that is not registered', async () => {
    for (const route of ['run', 'jobs']) {
      const answer = await post(`/providers/none/${route}`, hello);
      expect([answer.status, answer.json()]).toMatchObject([404, { code: 'not_found' }]);
    }
  });

  test('a job belongs to a product and a tenant, or to neither', async () => {
    for (const query of ['?productId=p', '?tenantId=t']) {
      const answer = await post(`/providers/${LOCAL}/run${query}`, hello);
      expect([answer.status, answer.json()]).toMatchObject([400, { code: 'validation_failed' }]);
    }
  });
});
