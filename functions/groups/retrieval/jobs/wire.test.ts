import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RetrievalEvaluationJob } from '../../../../contracts/generated/models.ts';
import { createNotes } from '../../../../test/support/retrieval-service.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';

/** Evaluation jobs over HTTP. Every answer is checked against its model. */

const JOBS = '/retrieval/evaluate/jobs';
const COMPARISONS = '/retrieval/evaluate/compare/jobs';
let service: RunningService;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '65536' } });
  await createNotes(service);
});
afterAll(() => service.close());

const start = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path, body, headers });
const read = (path: string) => service.call({ method: 'GET', path });

async function ended(path: string): Promise<RetrievalEvaluationJob> {
  return (await service.ended({ method: 'GET', path })).json<RetrievalEvaluationJob>();
}

async function started(path: string, body: unknown): Promise<RetrievalEvaluationJob> {
  const answer = await start(path, body);
  expect(answer.status, answer.body).toBe(202);
  return answer.json<RetrievalEvaluationJob>();
}

const caseOf = (id: string) => ({
  name: id,
  request: { query: id, collections: ['notes'] },
  expected: [{ id }],
});
const evaluation = { cases: [caseOf('fox'), caseOf('river')] };
const comparison = { ...evaluation, variants: [{ id: 'words' }, { id: 'both', searchMode: 'hybrid' }] };
/** Times differ from run to run. */
const plain = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (name, each: unknown) => (name === 'durationMs' ? 0 : each))) as unknown;

test('an evaluation as a job has the result of the call without one', async () => {
  const answer = await start(JOBS, evaluation);
  const job = answer.json<RetrievalEvaluationJob>();
  expect(answer.status).toBe(202);
  expect(answer.headers).toMatchObject({ location: `${JOBS}/${job.id}` });
  expect(answer.headers['idempotency-replayed']).toBeUndefined();
  const done = await ended(job.admission.statusUri);
  expect(done).toMatchObject({
    kind: 'evaluation',
    status: 'succeeded',
    requested: 2,
    casesAttempted: 2,
    casesSucceeded: 2,
    casesFailed: 0,
    variantsRequested: 0,
    progress: 1,
    currentCaseIndex: null,
    result: null,
  });
  const direct = await start('/retrieval/evaluate', evaluation);
  expect(plain(done.evaluationResult)).toEqual(plain(direct.json()));
});

test('a comparison as a job has the result of the call without one', async () => {
  const job = await started(COMPARISONS, comparison);
  expect(job.admission.operationId).toBe('startRetrievalEvaluationComparisonJob');
  const done = await ended(job.admission.statusUri);
  expect(done).toMatchObject({
    kind: 'comparison',
    status: 'succeeded',
    requested: 2,
    casesAttempted: 0,
    variantsRequested: 2,
    variantsAttempted: 2,
    variantsSucceeded: 2,
    variantsFailed: 0,
    evaluationResult: null,
  });
  const direct = await start('/retrieval/evaluate/compare', comparison);
  expect(plain(done.result)).toEqual(plain(direct.json()));
});

test('a request with the same key answers the first job, and another request is refused', async () => {
  const key = { 'Idempotency-Key': 'k' };
  const first = (await start(JOBS, evaluation, key)).json<RetrievalEvaluationJob>();
  const again = await start(JOBS, evaluation, key);
  expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
  expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
  for (const [path, body] of [
    [JOBS, { cases: [caseOf('both')] }],
    [COMPARISONS, comparison],
  ] as const) {
    const other = await start(path, body, key);
    expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
  }
});

test('listRetrievalEvaluationJobs names its next page, and shows results as getRetrievalEvaluationJob where they are asked for', async () => {
  for (const path of [JOBS, COMPARISONS, JOBS])
    await ended((await started(path, path === JOBS ? evaluation : comparison)).admission.statusUri);
  const seen: string[] = [];
  let path: string | undefined = `${JOBS}?limit=2&includeResult=true`;
  while (path !== undefined) {
    const page = await read(path);
    const jobs = page.json<RetrievalEvaluationJob[]>();
    expect(jobs.length).toBeLessThanOrEqual(2);
    for (const { id, kind, evaluationResult, result } of jobs) {
      expect(kind === 'evaluation' ? evaluationResult : result).not.toBeNull();
      seen.push(id);
    }
    path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
  }
  const all = (await read(`${JOBS}?limit=100`)).json<RetrievalEvaluationJob[]>();
  expect(seen).toEqual(all.map(({ id }) => id));
  expect(all.every(({ result, evaluationResult }) => result === null && evaluationResult === null)).toBe(
    true,
  );
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'includeResult=maybe', 'continuationToken=x'])
    expect((await read(`${JOBS}?${query}`)).status).toBe(400);
});

test('cancelRetrievalEvaluationJob leaves a finished job as it is, and knows no other', async () => {
  const path = (await started(JOBS, evaluation)).admission.statusUri;
  const done = await ended(path);
  const cancelled = await service.call({ method: 'DELETE', path });
  expect([cancelled.status, cancelled.json()]).toEqual([200, done]);
  // A run that is no such job is none here either.
  const embedding = await service.call({ method: 'POST', path: '/embeddings/jobs', body: { text: 'a' } });
  for (const id of ['unknown', embedding.json<{ id: string }>().id])
    for (const method of ['GET', 'DELETE']) {
      const unknown = await service.call({ method, path: `${JOBS}/${id}` });
      expect([unknown.status, unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
    }
});

describe('a request that is refused', () => {
  const large = { ...caseOf('fox'), metadata: { text: 'a'.repeat(70_000) } };
  test.each<[string, string, object, number, string]>([
    ['without cases', JOBS, { cases: [] }, 400, 'validation_failed'],
    ['with too many cases', JOBS, { cases: Array(201).fill(caseOf('fox')) }, 400, 'limit_exceeded'],
    ['with another member', JOBS, { ...evaluation, variants: [] }, 400, 'validation_failed'],
    ['without variants', COMPARISONS, evaluation, 400, 'validation_failed'],
    [
      'with equal variants',
      COMPARISONS,
      { ...evaluation, variants: [{ id: 'a' }, { id: 'a' }] },
      400,
      'validation_failed',
    ],
    ['that is larger than the setting', JOBS, { cases: [large] }, 413, 'payload_too_large'],
  ])('%s starts no job', async (_, path, body, status, code) => {
    const before = (await read(`${JOBS}?limit=100`)).json<RetrievalEvaluationJob[]>().length;
    const answer = await start(path, body);
    expect([answer.status, answer.json()]).toMatchObject([status, { code }]);
    expect((await read(`${JOBS}?limit=100`)).json<RetrievalEvaluationJob[]>()).toHaveLength(before);
  });

  test('a job belongs to a product and a tenant, or to neither', async () => {
    for (const query of ['?productId=p', '?tenantId=t']) {
      const answer = await start(JOBS + query, evaluation);
      expect([answer.status, answer.json()]).toMatchObject([400, { code: 'validation_failed' }]);
    }
  });
});
