import { describe, expect, test } from 'vitest';
import { CanonicalClient } from '../src/generated/clients/canonical.ts';
import {
  APIAbortError,
  APITimeoutError,
  NotFoundError,
  PermissionDeniedError,
  SvcClient,
  SvcError,
} from '../src/index.ts';
import { json, ManualTime, problem, Stage, thrown } from './stage.ts';

describe('a read of something that may not exist', () => {
  test.each(['not_found', 'collection_not_found'])('is null where the service answers %s', async (code) => {
    await using stage = await Stage.open(problem(404, code));
    const client = stage.client();
    expect(await client.getRecord('articles', '2026', 'a-1')).toBeNull();
    expect(await client.getCollectionPolicy('articles')).toBeNull();
    expect(await client.exportCollection('articles')).toBeNull();
    expect(await client.getRecordImportJob('7')).toBeNull();
    const { data, response } = await client.getRecord('articles', '2026', 'a-1').withResponse();
    expect([data, response.status]).toEqual([null, 404]);
  });

  test('throws where another 404 comes, and where the caller asks for the answer itself', async () => {
    await using stage = await Stage.open(
      problem(404, 'route_not_found'),
      json({ message: 'a proxy' }, 404),
      problem(404, 'not_found'),
    );
    const client = stage.client();
    await thrown(client.getRecord('articles', '2026', 'a-1'), NotFoundError);
    await thrown(client.getRecord('articles', '2026', 'a-1'), NotFoundError);
    await thrown(client.getRecord('articles', '2026', 'a-1').asResponse(), NotFoundError);
  });

  test('throws for other operations', async () => {
    await using stage = await Stage.open(problem(404, 'collection_not_found'));
    const error = await thrown(stage.client().queryRecords('articles'), NotFoundError);
    expect(error.code).toBe('collection_not_found');
  });
});

describe('a document that may not exist', () => {
  const name = { documentType: 'claim', id: '7' };

  test.each([SvcClient, CanonicalClient])(
    'is found by %o, or null where the service answers not_found',
    async (Client) => {
      await using stage = await Stage.open(json({ ...name, revision: 3 }), problem(404, 'not_found'));
      const client = new Client({ baseUrl: stage.address });
      expect(await client.findCanonicalDocument('acme', name)).toMatchObject({ revision: 3 });
      expect(await client.findCanonicalDocument('acme', name)).toBeNull();
      const target = '/canonical/tenants/acme/documents/read';
      expect(stage.seen.map((seen) => seen.target)).toEqual([target, target]);
    },
  );

  test.each([
    ['a caller without the right', problem(403, 'permission_denied'), PermissionDeniedError],
    ['a missing collection', problem(404, 'collection_not_found'), NotFoundError],
    ['a path without an operation', problem(404, 'route_not_found'), NotFoundError],
    ['a proxy', json({ message: 'not_found' }, 404), NotFoundError],
  ])('throws the refusal of %s', async (_, answer, Refusal) => {
    await using stage = await Stage.open(answer);
    await thrown(stage.client().findCanonicalDocument('acme', name), Refusal);
  });

  test('is still thrown by the read that existed before', async () => {
    await using stage = await Stage.open(problem(404, 'not_found'));
    await thrown(stage.client().getCanonicalDocument('acme', name), NotFoundError);
  });
});

describe('waiting for the end of an import', () => {
  const at = (status: string) => json({ id: '7', status });

  test('reads an embedding job until it has its vectors', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('running'), at('succeeded'), at('running'));
    const wait = stage.client({ world }).waitForEmbeddingJob('a/b');
    await world.pass(250);
    expect((await wait)?.status).toBe('succeeded');
    expect(stage.seen.map(({ target }) => target)).toEqual(Array(2).fill('/embeddings/jobs/a%2Fb'));
    const late = stage.client({ world }).waitForEmbeddingJob('7', { waitTimeout: 0 });
    expect((await thrown(late, APITimeoutError)).operation).toBe('getEmbeddingJob');
  });

  test('reads a provider job until it has a result', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('Queued'), at('Running'), at('NotConfigured'), at('Running'));
    const wait = stage.client({ world }).waitForProviderJob('a/b');
    for (const pause of [250, 500]) await world.pass(pause);
    expect((await wait)?.status).toBe('NotConfigured');
    expect(stage.seen.map(({ target }) => target)).toEqual(Array(3).fill('/provider-jobs/a%2Fb'));
    const late = stage.client({ world }).waitForProviderJob('7', { waitTimeout: 0 });
    expect((await thrown(late, APITimeoutError)).operation).toBe('getProviderRunJob');
  });

  test('reads an evaluation job until it has its result', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('running'), at('succeeded'), at('running'));
    const wait = stage.client({ world }).waitForRetrievalEvaluationJob('a/b');
    await world.pass(250);
    expect((await wait)?.status).toBe('succeeded');
    expect(stage.seen.map(({ target }) => target)).toEqual(Array(2).fill('/retrieval/evaluate/jobs/a%2Fb'));
    const late = stage.client({ world }).waitForRetrievalEvaluationJob('7', { waitTimeout: 0 });
    expect((await thrown(late, APITimeoutError)).operation).toBe('getRetrievalEvaluationJob');
  });

  test('reads a graph job until it has its result', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('queued'), at('succeeded'), at('running'));
    const wait = stage.client({ world }).waitForGraphJob('a/b');
    await world.pass(250);
    expect((await wait)?.status).toBe('succeeded');
    expect(stage.seen.map(({ target }) => target)).toEqual(Array(2).fill('/graph/jobs/a%2Fb'));
    const late = stage.client({ world }).waitForGraphJob('7', { waitTimeout: 0 });
    expect((await thrown(late, APITimeoutError)).operation).toBe('getGraphJob');
  });

  test('reads an ingestion until it has ended', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('queued'), at('succeeded'));
    const wait = stage.client({ world }).waitForRagIngestionJob('a/b');
    await world.pass(250);
    expect((await wait)?.status).toBe('succeeded');
    expect(stage.seen.map(({ target }) => target)).toEqual(Array(2).fill('/rag/ingestion/jobs/a%2Fb'));
  });

  test.each(['succeeded', 'failed', 'cancelled', 'rejected'])('ends with %s', async (status) => {
    await using stage = await Stage.open(at(status));
    const job = await stage.client({ world: new ManualTime() }).waitForRecordImportJob('a/b');
    expect(job?.status).toBe(status);
    expect(stage.seen.map(({ target }) => target)).toEqual(['/record-import/jobs/a%2Fb']);
  });

  test('ends with null where there is no such job', async () => {
    await using stage = await Stage.open(at('queued'), problem(404, 'not_found'));
    const world = new ManualTime();
    const wait = stage.client({ world }).waitForRecordImportJob('7');
    await world.pass(250);
    expect(await wait).toBeNull();
  });

  test('pauses longer each time, and not for ever', async () => {
    const world = new ManualTime();
    const working = Array.from({ length: 6 }, () => at('running'));
    await using stage = await Stage.open(at('queued'), ...working, at('succeeded'));
    const wait = stage.client({ world }).waitForRecordImportJob('7');
    for (const pause of [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]) await world.pass(pause);
    expect((await wait)?.status).toBe('succeeded');
    expect(stage.seen).toHaveLength(8);
  });

  test('ends with its time, while the job goes on', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('running'));
    const wait = stage.client({ world }).waitForRecordImportJob('7', { waitTimeout: 300 });
    await world.pass(250);
    await world.pass(50);
    const error = await thrown(wait, APITimeoutError);
    expect(error.operation).toBe('getRecordImportJob');
    await thrown(stage.client().waitForRecordImportJob('7', { waitTimeout: -1 }), SvcError);
  });

  test('is aborted in a pause', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(at('running'));
    const controller = new AbortController();
    const wait = stage.client({ world }).waitForRecordImportJob('7', { signal: controller.signal });
    await world.awaited(250);
    controller.abort(new Error('enough'));
    await thrown(wait, APIAbortError);
  });
});
