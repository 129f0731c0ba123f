import { expect, test } from 'vitest';
import { EmbeddingsStage } from '../support/embeddings-stage.ts';
import { ExecutionClient } from '../support/execution.ts';
import { PaidModel, vectorOf } from '../support/paid-model.ts';
import type { JobsConformance } from './jobs-suite.ts';

const texts = ['a', 'b', 'c', 'b', 'd'];
/** More than a run holds. */
const LARGE = Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(1_000)}`);

export function describeEmbeddingLife(conformance: JobsConformance): void {
  describeResults(conformance);
  describeStaging(conformance);
  describeEnds(conformance);
}

function describeResults({ store }: JobsConformance): void {
  test('a job has a receipt, is executed and shows its vectors in the order of the request', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings();
    const job = await service.start({ text: 'first', texts, purpose: 'query' });
    expect(job).toMatchObject({
      admission: {
        operationId: 'startEmbeddingJob',
        status: 'accepted',
        replayed: false,
        statusUri: `/embeddings/jobs/${job.id}`,
      },
      provider: 'deterministic-hash',
      modelId: 'deterministic-hash-embedding-v1',
      dimensions: 4,
      purpose: 'query',
      requested: 6,
      result: null,
    });
    const done = await service.ended(job.id);
    const counts = { requested: 6, attempted: 6, succeeded: 6, failed: 0, progress: 1 };
    expect(done).toMatchObject({ status: 'succeeded', ...counts, currentIndex: null, error: null });
    const { items = [], ...facts } = done.result ?? {};
    const { provider, modelId, dimensions, purpose } = done;
    expect(facts).toEqual({ provider, modelId, dimensions, purpose });
    expect(items.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(items[2]?.values).toEqual(items[4]?.values);
    expect(items[0]).toMatchObject({ textLength: 5, preparedTextLength: 5, prefixApplied: false });
    expect((await service.list()).jobs).toEqual([{ ...done, result: null }]);
    expect((await service.list({ includeResult: true })).jobs).toEqual([done]);
  });

  test('the run of a job is one of the built-in handler, with one attempt and no artifact', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings();
    const { id } = await service.start({ text: 'a' });
    await service.ended(id);
    const client = new ExecutionClient(service.engine);
    expect(await client.get(id)).toMatchObject({
      handlerId: 'svc.embedding.batch',
      pluginId: 'svc.embeddings',
      maxAttempts: 1,
      tags: { 'svc.job': 'embedding', 'svc.admission.operation-id': 'startEmbeddingJob' },
    });
    expect(await client.artifacts(id)).toEqual([]);
  });

  test('a result that is too large for a run is in the views of the job all the same', async () => {
    const stage = new EmbeddingsStage(store());
    const [small, large] = [stage.embeddings(), stage.embeddings({ resultBytesMax: 400 })];
    const jobs = [];
    for (const service of [small, large]) {
      const { id } = await service.start({ texts });
      jobs.push(await service.ended(id));
    }
    expect(jobs[1]?.result).toEqual(jobs[0]?.result);
    const { jobs: listed } = await small.list({ includeResult: true });
    expect(listed.map(({ result }) => result)).toEqual([jobs[0]?.result, jobs[0]?.result]);
  });

  test('a list continues where its page ends', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings({ concurrencyMax: 0 });
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.push((await service.start({ texts: [String(at)] })).id);
    const listed: string[] = [];
    for (let after: string | null = null; ; ) {
      const page: Awaited<ReturnType<typeof service.list>> = await service.list({ limit: 2, after });
      listed.push(...page.jobs.map(({ id }) => id));
      after = page.next;
      if (after === null) break;
    }
    expect(listed).toEqual(ids.toReversed());
  });

  test('texts that a paid model has embedded are not paid for again', async () => {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const service = stage.embeddings({ embedder: model.embedder(stage.world) });
    const first = await service.ended((await service.start({ texts })).id);
    expect(first.result?.items.map(({ values }) => values)).toEqual(texts.map(vectorOf));
    const again = await service.ended((await service.start({ texts: ['d', 'e', 'a'] })).id);
    expect(again.result?.items.map(({ values }) => values)).toEqual(['d', 'e', 'a'].map(vectorOf));
    expect([...model.paid]).toEqual(['a', 'b', 'c', 'd', 'e'].map((text) => [text, 1]));
    // Another space pays for its own.
    const theirs = await service.start({ texts: ['a'] }, { as: 'bob' });
    await service.ended(theirs.id, 'bob');
    expect(model.paid.get('a')).toBe(2);
  });
}

function describeStaging({ store }: JobsConformance): void {
  test('a large request is staged, executed, and its payload removed', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings();
    const { id } = await service.start({ texts: LARGE });
    expect(await service.stagedBytes()).toBeGreaterThan(100_000);
    const done = await service.ended(id);
    expect(done).toMatchObject({ status: 'succeeded', succeeded: 100 });
    expect(done.result?.items.map(({ textLength }) => textLength)).toEqual(LARGE.map(({ length }) => length));
    expect(await service.stagedBytes()).toBe(0);
  });

  test('a staged payload that is damaged embeds nothing', async () => {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const service = stage.embeddings({ embedder: model.embedder(stage.world) });
    const { payloads } = service;
    const read = payloads.read.bind(payloads);
    payloads.read = async (reference) => (await read(reference)).replace('"42 ', '"43 ');
    const job = await service.ended((await service.start({ texts: LARGE })).id);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'content_hash_mismatch', attempted: 0 });
    expect(model.calls).toEqual([]);
    expect(await service.stagedBytes()).toBe(0);
  });

  test('a repeated request answers the first job and stages nothing, and another one is a conflict', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings({ concurrencyMax: 0, options: { activeJobsMax: 10, jobShareMax: 1 } });
    const first = await service.start({ texts: LARGE }, { key: 'k' });
    const staged = await service.stagedBytes();
    const again = await service.start({ texts: LARGE }, { key: 'k' });
    expect(again).toEqual({ ...first, admission: { ...first.admission, replayed: true } });
    expect(first.admission.idempotencyKeyHash).toMatch(/^[0-9a-f]{64}$/);
    await expect(service.start({ texts: ['other'] }, { key: 'k' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
    // A tenant at its share stages nothing either, and another tenant is not in its way.
    await expect(service.start({ texts: LARGE })).rejects.toMatchObject({ code: 'queue_full' });
    expect(await service.stagedBytes()).toBe(staged);
    expect(await service.start({ texts: LARGE }, { as: 'bob', key: 'k' })).toMatchObject({
      admission: { replayed: false },
    });
    // Cancelling a job before its start also removes its payload.
    expect(await service.cancel(first.id)).toMatchObject({ status: 'cancelled', result: null });
    expect(await service.stagedBytes()).toBe(0);
  });
}

function describeEnds({ store, local }: JobsConformance): void {
  test.each([
    ['of another length', [1, 2, 3], 'vector of 4 numbers'],
    ['with a number beyond single precision', [1, 2, 3, 1e300], 'not finite'],
    ['with a text for a number', [1, 2, 3, 'x'], 'not finite'],
    ['that is none', null, 'vector of 4 numbers'],
  ])('a vector %s fails the job with the class schema', async (_, vector, message) => {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const service = stage.embeddings({ embedder: model.embedder(stage.world) });
    const good = model.reply;
    model.reply = (batch) =>
      batch.includes('c') ? { data: [{ index: 0, embedding: vector }] } : good(batch);
    const job = await service.ended((await service.start({ texts: ['a', 'b', 'c'] })).id);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'schema', attempted: 2, result: null });
    expect(job.error).toContain(message);
    model.reply = good;
    const next = await service.ended((await service.start({ texts: ['a', 'b', 'c'] })).id);
    expect(next).toMatchObject({ status: 'succeeded' });
    // Nothing of the wrong answer was kept, and all of the right one.
    expect([...model.paid]).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 2],
    ]);
  });

  local(
    'a job that is cancelled while it runs stops before the next call, and frees its payload',
    async () => {
      const stage = new EmbeddingsStage(store());
      const model = new PaidModel();
      let go = (): void => undefined;
      const held = new Promise<void>((resolve) => (go = resolve));
      model.gate = () => (model.calls.length === 2 ? held : Promise.resolve());
      const service = stage.embeddings({ embedder: model.embedder(stage.world) });
      const { id } = await service.start({ texts: LARGE });
      await stage.quiet();
      while (model.calls.length < 2) await stage.quiet();
      expect(await service.get(id)).toMatchObject({ status: 'running', currentIndex: 0, requested: 100 });
      expect(await service.cancel(id)).toMatchObject({ status: 'running', cancellationRequested: true });
      const ended = await service.ended(id);
      go();
      await stage.quiet();
      expect(ended).toMatchObject({ status: 'cancelled', currentIndex: null, result: null });
      expect(model.calls).toHaveLength(2);
      expect(await service.stagedBytes()).toBe(0);
      // A finished job does not change.
      expect(await service.cancel(id)).toMatchObject({ status: 'cancelled' });
    },
  );

  local('a job fails without a paid call when the settings have another model', async () => {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const admits = stage.embeddings({ concurrencyMax: 0 });
    const { id } = await admits.start({ texts });
    const service = stage.embeddings({ embedder: model.embedder(stage.world) });
    await service.engine.start();
    service.engine.engine.wake();
    const job = await service.ended(id);
    await service.engine.stop();
    expect(job).toMatchObject({
      status: 'failed',
      failureClass: 'configuration',
      provider: 'deterministic-hash',
      error: 'The service has another embedding model than when it admitted the job.',
    });
    expect(model.calls).toEqual([]);
  });
}
