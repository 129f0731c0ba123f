import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddingJob } from '../../../../contracts/generated/models.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';

/** Embedding jobs over HTTP. Every answer is checked against its model. */

const JOBS = '/embeddings/jobs';
let service: RunningService;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '65536' } });
});
afterAll(() => service.close());

const start = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path: JOBS, body, headers });
const read = (path: string) => service.call({ method: 'GET', path });

async function ended(path: string): Promise<EmbeddingJob> {
  return (await service.ended({ method: 'GET', path })).json<EmbeddingJob>();
}

async function started(body: unknown): Promise<EmbeddingJob> {
  const answer = await start(body);
  expect(answer.status, answer.body).toBe(202);
  return answer.json<EmbeddingJob>();
}

test('startEmbeddingJob answers where the job is, and getEmbeddingJob its vectors', async () => {
  const answer = await start({ text: 'one', texts: ['two'], purpose: 'query' });
  const job = answer.json<EmbeddingJob>();
  expect(answer.status).toBe(202);
  expect(answer.headers).toMatchObject({ location: `${JOBS}/${job.id}` });
  expect(answer.headers['idempotency-replayed']).toBeUndefined();
  const done = await ended(job.admission.statusUri);
  expect(done).toMatchObject({ status: 'succeeded', requested: 2, succeeded: 2, progress: 1 });
  const direct = await service.call({
    method: 'POST',
    path: '/embeddings',
    body: { texts: ['one', 'two'], purpose: 'query' },
  });
  expect(done.result).toEqual(direct.json());
});

test('a request with the same key answers the first job, and another request is refused', async () => {
  const key = { 'Idempotency-Key': 'k' };
  const first = (await start({ texts: ['a'] }, key)).json<EmbeddingJob>();
  const again = await start({ texts: ['a'] }, key);
  expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
  expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
  const other = await start({ texts: ['b'] }, key);
  expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
});

test('listEmbeddingJobs names its next page, and shows vectors where they are asked for', async () => {
  for (const text of ['x', 'y', 'z']) await ended(`${JOBS}/${(await started({ text })).id}`);
  const seen: string[] = [];
  let path: string | undefined = `${JOBS}?limit=2&includeResult=true`;
  while (path !== undefined) {
    const page = await read(path);
    const jobs = page.json<EmbeddingJob[]>();
    expect(jobs.length).toBeLessThanOrEqual(2);
    for (const { id, requested, result } of jobs) {
      expect(result?.items).toHaveLength(requested);
      seen.push(id);
    }
    path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
  }
  const all = (await read(JOBS)).json<EmbeddingJob[]>();
  expect(seen).toEqual(all.map(({ id }) => id));
  expect(all.every(({ result }) => result === null)).toBe(true);
  for (const query of ['limit=0', 'limit=201', 'limit=x', 'includeResult=maybe', 'continuationToken=x'])
    expect((await read(`${JOBS}?${query}`)).status).toBe(400);
});

test('cancelEmbeddingJob leaves a finished job as it is, and knows no other', async () => {
  const path = `${JOBS}/${(await started({ text: 'a' })).id}`;
  const done = await ended(path);
  const cancelled = await service.call({ method: 'DELETE', path });
  expect([cancelled.status, cancelled.json()]).toEqual([200, done]);
  for (const method of ['GET', 'DELETE']) {
    const unknown = await service.call({ method, path: `${JOBS}/unknown` });
    expect([unknown.status, unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
  }
  // A run that is no embedding job is none here either.
  const body = { name: 'c' };
  const { id } = (await service.call({ method: 'POST', path: '/collections', body })).json<{ id: string }>();
  expect((await read(`${JOBS}/${id}`)).status).toBe(404);
});

describe('a request that is refused', () => {
  test.each<[string, unknown, number, string]>([
    ['without texts', {}, 400, 'validation_failed'],
    ['with white space for a text', { texts: ['a', ' '] }, 400, 'validation_failed'],
    ['with another member', { text: 'a', provider: 'other' }, 400, 'validation_failed'],
    ['with another purpose', { text: 'a', purpose: 'other' }, 400, 'validation_failed'],
    ['with too many texts', { text: 'a', texts: Array(128).fill('b') }, 400, 'limit_exceeded'],
    [
      'that is larger than the setting',
      { texts: Array(70).fill('a'.repeat(1_000)) },
      413,
      'payload_too_large',
    ],
  ])('%s starts no job', async (_, body, status, code) => {
    const before = (await read(`${JOBS}?limit=200`)).json<EmbeddingJob[]>().length;
    const answer = await start(body);
    expect([answer.status, answer.json()]).toMatchObject([status, { code }]);
    expect((await read(`${JOBS}?limit=200`)).json<EmbeddingJob[]>()).toHaveLength(before);
  });

  test('a job belongs to a product and a tenant, or to neither', async () => {
    for (const query of ['?productId=p', '?tenantId=t']) {
      const answer = await service.call({ method: 'POST', path: JOBS + query, body: { text: 'a' } });
      expect([answer.status, answer.json()]).toMatchObject([400, { code: 'validation_failed' }]);
    }
  });
});
