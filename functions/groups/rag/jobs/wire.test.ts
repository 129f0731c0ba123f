import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RagIngestionJob, RagIngestTextResult } from '../../../../contracts/generated/models.ts';
import { RecordSpace } from '../../../../test/security/record-space.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';

/** Ingestions over HTTP. Every answer is checked against its model. */

const JOBS = '/rag/ingestion/jobs';
const INGEST = '/collections/notes/rag/ingest-text';
const TEXT = 'A backend keeps canonical data.\n\nIt also runs durable work. Jobs survive a crash.';
const SHAPE = { chunkChars: 40, chunkOverlapChars: 0 };

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
  await new RecordSpace(service.call).create({ name: 'notes', vectorPolicies });
});
afterAll(() => service.close());

const send = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path, body, headers });
const read = (path: string) => service.call({ method: 'GET', path });

async function ended(path: string): Promise<RagIngestionJob> {
  return (await service.ended({ method: 'GET', path })).json<RagIngestionJob>();
}

async function ingested(path: string, body: unknown): Promise<RagIngestionJob> {
  const answer = await send(path, body);
  expect(answer.status, answer.body).toBe(202);
  return ended(answer.json<RagIngestionJob>().admission.statusUri);
}

async function records(
  filter: object = {},
): Promise<readonly { readonly id: string; readonly revision: number }[]> {
  const found = await send('/collections/notes/query', filter);
  expect(found.status, found.body).toBe(200);
  return found.json<{ items: { id: string; revision: number }[] }>().items;
}

describe('ingestRagText', () => {
  test('answers with the address of the job, which reports the outcome of each chunk', async () => {
    const body = {
      documentId: 'one',
      partitionKey: 'one',
      text: TEXT,
      options: { ...SHAPE, persistManifest: true },
    };
    const answer = await send(INGEST, body);
    const job = answer.json<RagIngestionJob>();
    expect(answer.status, answer.body).toBe(202);
    expect(answer.headers).toMatchObject({ location: `${JOBS}/${job.id}` });
    expect(job).toMatchObject({ kind: 'text', collection: 'notes', requested: 1, textResult: null });
    const done = await ended(`${JOBS}/${job.id}`);
    expect(done).toMatchObject({
      status: 'succeeded',
      succeeded: 1,
      progress: 1,
      chunkCount: 3,
      createdCount: 3,
    });
    const result = done.textResult as RagIngestTextResult;
    expect(result).toMatchObject({
      documentId: 'one',
      embeddingField: 'v',
      dimensions: 384,
      textLength: TEXT.length,
      vectorGeneratedCount: 3,
      manifestId: 'one-manifest',
      manifestAction: 'created',
      manifestEtag: 'rev:1',
      trace: null,
    });
    expect(result.chunks.map(({ charStart, charEnd }) => TEXT.slice(charStart, charEnd))).toEqual([
      'A backend keeps canonical data.',
      'It also runs durable work.',
      'Jobs survive a crash.',
    ]);
    expect(result.chunks.every(({ etag, revision }) => etag === 'rev:1' && revision === 1)).toBe(true);
    const stored = await records({ partitionKeys: ['one'] });
    expect(stored.map(({ id }) => id)).toEqual([...result.chunks.map(({ id }) => id), 'one-manifest']);
  });

  test('with dryRun answers the plan of the real one at once, and writes nothing', async () => {
    const body = {
      documentId: 'dry',
      partitionKey: 'dry',
      text: TEXT,
      options: { ...SHAPE, includeTrace: true },
    };
    const dry = await send(INGEST, { ...body, options: { ...body.options, dryRun: true } });
    expect(dry.status, dry.body).toBe(200);
    const plan = dry.json<RagIngestTextResult>();
    expect(plan).toMatchObject({ dryRun: true, createdCount: 3, trace: { tracePersisted: false, id: null } });
    expect(await records({ partitionKeys: ['dry'] })).toEqual([]);
    const done = await ingested(INGEST, body);
    expect(done.textResult?.planHash).toBe(plan.planHash);
    const again = await send(INGEST, {
      ...body,
      options: { ...body.options, dryRun: true, expectedPlanHash: plan.planHash },
    });
    expect(again.json()).toMatchObject({ planHashComparison: { status: 'drifted' }, updatedCount: 3 });
  });

  test('with includeTrace leaves a trace without the text', async () => {
    const body = {
      documentId: 'traced',
      partitionKey: 'traced',
      text: TEXT,
      options: { includeTrace: true },
    };
    const { textResult } = await ingested(INGEST, body);
    expect(textResult?.trace).toMatchObject({ tracePersisted: true, operation: 'rag.ingest_text' });
    const { id } = (textResult?.trace ?? {}) as { readonly id?: string };
    const trace = await read(`/traces/${id}`);
    expect(trace.status).toBe(200);
    expect(trace.json()).toMatchObject({
      operation: 'rag.ingest_text',
      resultSummary: { status: 'Succeeded', chunkCount: 1 },
    });
    expect(trace.body).not.toContain('canonical data');
  });

  test('a request with the same key answers the first job, and another request is refused', async () => {
    const key = { 'Idempotency-Key': 'k' };
    const body = { partitionKey: 'key', text: TEXT };
    const first = (await send(INGEST, body, key)).json<RagIngestionJob>();
    const again = await send(INGEST, body, key);
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
    expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
    const other = await send(INGEST, { ...body, text: 'Other.' }, key);
    expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
    await ended(`${JOBS}/${first.id}`);
  });

  test.each([
    ['white space alone', { text: ' \n\t\u3000' }, '/text'],
    [
      'an overlap as long as a chunk',
      { options: { chunkChars: 5, chunkOverlapChars: 5 } },
      '/options/chunkOverlapChars',
    ],
    [
      'too many chunks',
      { text: 'word '.repeat(3_000), options: { chunkChars: 5, chunkOverlapChars: 4 } },
      '/options/chunkChars',
    ],
    ['a dotted content field', { contentField: 'a.b' }, '/contentField'],
    ['the type of a manifest', { type: 'rag.manifest' }, '/type'],
    ['an unknown purpose', { embedding: { purpose: 'guess' } }, '/embedding/purpose'],
  ])('refuses %s before it admits anything', async (_, given, pointer) => {
    const jobs = (await read(`${JOBS}?limit=200`)).json<unknown[]>().length;
    for (const options of [{}, { dryRun: true }]) {
      const own = 'options' in given ? given.options : {};
      const body = { partitionKey: 'p', text: 'a', ...given, options: { ...own, ...options } };
      const answer = await send(INGEST, body);
      expect([answer.status, answer.json()]).toMatchObject([400, { errors: [{ pointer }] }]);
    }
    expect((await read(`${JOBS}?limit=200`)).json<unknown[]>()).toHaveLength(jobs);
  });

  test('refuses half of a surrogate pair', async () => {
    const answer = await send(INGEST, { partitionKey: 'p', text: 'a\ud800' });
    expect([answer.status, answer.json()]).toMatchObject([400, { code: 'malformed_request' }]);
  });

  test('refuses a text beyond 2,000,000 characters', async () => {
    const answer = await send(INGEST, { partitionKey: 'p', text: 'a'.repeat(2_000_001) });
    expect(answer.status).toBe(400);
  });

  test('a collection that does not exist fails the job, and refuses a dry run', async () => {
    const path = '/collections/absent/rag/ingest-text';
    const dry = await send(path, { partitionKey: 'p', text: 'a', options: { dryRun: true } });
    expect([dry.status, dry.json()]).toMatchObject([404, { code: 'collection_not_found' }]);
    const job = await ingested(path, { partitionKey: 'p', text: 'a' });
    expect(job).toMatchObject({ status: 'failed', failureClass: 'collection_not_found', textResult: null });
  });
});

describe('ingestRagTextBatch', () => {
  const BATCH = `${INGEST}/batch`;

  test('ingests documents one after the other, and a refused one fails alone', async () => {
    const items = [
      { documentId: 'b1', partitionKey: 'b', text: TEXT, options: SHAPE },
      { documentId: 'b2', partitionKey: 'b', text: '' },
      { documentId: 'b3', partitionKey: 'b', text: 'Another text.' },
    ];
    const done = await ingested(BATCH, { items, continueOnError: true });
    expect(done).toMatchObject({
      status: 'succeeded',
      kind: 'batch',
      requested: 3,
      attempted: 3,
      succeeded: 2,
      failed: 1,
    });
    expect(done.batchResult).toMatchObject({ stoppedOnError: false, chunkCount: 4, createdCount: 4 });
    expect(done.batchResult?.items.map(({ status, error }) => [status, error])).toEqual([
      ['succeeded', null],
      ['failed', '/items/1/text: must not be blank'],
      ['succeeded', null],
    ]);
    const stopped = await ingested(BATCH, { items: items.slice(1) });
    expect(stopped.batchResult).toMatchObject({ attempted: 1, failed: 1, stoppedOnError: true });
  });

  test('later documents of a request refer to earlier ones, in a dry run and in the real one alike', async () => {
    const item = (documentId: string, dryRun: boolean) => ({
      documentId,
      partitionKey: 'same',
      text: TEXT,
      options: { ...SHAPE, deduplicateExistingChunks: true, dryRun },
    });
    const run = (dryRun: boolean) => ingested(BATCH, { items: [item('s1', dryRun), item('s2', dryRun)] });
    const dry = await run(true);
    const real = await run(false);
    const hashes = ({ batchResult }: RagIngestionJob) =>
      batchResult?.items.map(({ result }) => result?.planHash);
    expect(hashes(dry)).toEqual(hashes(real));
    expect(real.batchResult).toMatchObject({ createdCount: 3, deduplicatedCount: 3 });
    expect(dry.batchResult?.items.every(({ result }) => result?.dryRun)).toBe(true);
    // A real document never refers to one that is only planned.
    const mixed = await ingested(BATCH, {
      items: [item('m1', true), { ...item('m2', false), partitionKey: 'mixed' }].map((each) => ({
        ...each,
        partitionKey: 'mixed',
      })),
    });
    expect(mixed.batchResult).toMatchObject({ succeeded: 2, failed: 0, createdCount: 6 });
  });

  test('refuses a batch with too many chunks, and one without documents', async () => {
    const item = {
      partitionKey: 'p',
      text: 'abcdefgh '.repeat(800),
      options: { chunkChars: 4, chunkOverlapChars: 0 },
    };
    const many = await send(BATCH, { items: Array.from({ length: 12 }, () => item) });
    expect([many.status, many.json()]).toMatchObject([400, { code: 'limit_exceeded' }]);
    expect((await send(BATCH, { items: [] })).status).toBe(400);
  });
});

test('both jobs have an operation of their own, also for a dry run, whose job writes nothing', async () => {
  const item = { documentId: 'jobs', partitionKey: 'jobs', text: TEXT, options: { dryRun: true } };
  const text = await ingested(`${INGEST}/jobs`, item);
  expect(text).toMatchObject({ kind: 'text', status: 'succeeded', textResult: { dryRun: true } });
  expect(text.admission.operationId).toBe('startRagIngestionTextJob');
  const batch = await ingested(`${INGEST}/batch/jobs`, { items: [item] });
  expect(batch).toMatchObject({ kind: 'batch', status: 'succeeded' });
  expect(batch.admission.operationId).toBe('startRagIngestionBatchJob');
  expect(await records({ partitionKeys: ['jobs'] })).toEqual([]);
});

test('listRagIngestionJobs names its next page, and shows results as getRagIngestionJob does where they are asked for', async () => {
  for (const id of ['x', 'y', 'z'])
    await ingested(INGEST, { documentId: id, partitionKey: 'list', text: TEXT });
  const seen: string[] = [];
  let path: string | undefined = `${JOBS}?limit=2&includeResult=true`;
  while (path !== undefined) {
    const page = await read(path);
    const jobs = page.json<RagIngestionJob[]>();
    expect(jobs.length).toBeLessThanOrEqual(2);
    for (const job of jobs) {
      if (job.status === 'succeeded') expect(job.textResult ?? job.batchResult).not.toBeNull();
      seen.push(job.id);
    }
    path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
  }
  expect(new Set(seen).size).toBe(seen.length);
  const plain = (await read(`${JOBS}?limit=200`)).json<RagIngestionJob[]>();
  expect(plain.map(({ id }) => id)).toEqual(seen);
  expect(plain.every(({ textResult, batchResult }) => textResult === null && batchResult === null)).toBe(
    true,
  );
});

test('cancelRagIngestionJob leaves a finished job as it is, and an unknown one is 404', async () => {
  const done = await ingested(INGEST, { partitionKey: 'p', text: 'Done.' });
  const cancelled = await service.call({ method: 'DELETE', path: `${JOBS}/${done.id}` });
  expect([cancelled.status, cancelled.json()]).toEqual([200, done]);
  for (const method of ['GET', 'DELETE'])
    expect((await service.call({ method, path: `${JOBS}/00000000000000000000` })).status).toBe(404);
});
