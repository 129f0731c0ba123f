import { expect, test } from 'vitest';
import { EmbeddingsStage } from '../support/embeddings-stage.ts';
import { PaidModel } from '../support/paid-model.ts';
import type { JobsConformance } from './jobs-suite.ts';

export function describeEmbeddingRefusals({ store, local }: JobsConformance): void {
  test('a job of another space does not exist, and a missing right is refused first', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings({ concurrencyMax: 0 });
    const { id } = await service.start({ texts: ['a'] });
    const missing = { code: 'not_found' };
    const denied = { code: 'permission_denied' };
    await expect(service.get(id, 'bob')).rejects.toMatchObject(missing);
    await expect(service.cancel(id, 'bob')).rejects.toMatchObject(missing);
    await expect(service.get('unknown')).rejects.toMatchObject(missing);
    await expect(service.cancel('unknown')).rejects.toMatchObject(missing);
    await expect(service.cancel(id, 'reader')).rejects.toMatchObject(denied);
    await expect(service.start({ texts: ['a'] }, { as: 'reader' })).rejects.toMatchObject(denied);
    for (const call of [
      () => service.start({ texts: ['a'] }, { as: 'stranger' }),
      () => service.get(id, 'stranger'),
      () => service.cancel(id, 'stranger'),
      () => service.list({ as: 'stranger' }),
    ])
      await expect(call()).rejects.toMatchObject(denied);
    expect((await service.list({ as: 'bob' })).jobs).toEqual([]);
    expect(await service.get(id, 'reader')).toMatchObject({ status: 'queued' });
    expect(await service.cancel(id)).toMatchObject({ status: 'cancelled' });
  });

  test('a request that a call refuses admits no job', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings({ concurrencyMax: 0, payloadBytesMax: 100_000 });
    for (const body of [
      {},
      { texts: [] },
      { text: ' ' },
      { texts: ['a', '\t'] },
      { text: 'a', purpose: 'other' },
      { text: '\ud800' },
    ])
      await expect(service.start(body)).rejects.toMatchObject({ code: 'validation_failed' });
    const many = Array.from({ length: 129 }, (_, index) => String(index));
    for (const body of [
      { texts: many },
      { text: 'a', texts: many.slice(1) },
      { text: 'a'.repeat(100_001) },
      { texts: ['a'.repeat(60_000), 'b'.repeat(60_000)] },
    ])
      await expect(service.start(body)).rejects.toMatchObject({ code: 'limit_exceeded' });
    expect((await service.list()).jobs).toEqual([]);
    expect(await service.stagedBytes()).toBe(0);
  });

  local('a caller who has lost the right causes no call of the model', async () => {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const embedder = model.embedder(stage.world);
    const admits = stage.embeddings({ embedder, concurrencyMax: 0 });
    const { id } = await admits.start({ texts: ['a'] });
    const { grants } = stage;
    stage.grants = grants.map((grant) => ({ ...grant, operations: ['read'] }));
    const service = stage.embeddings({ embedder });
    await service.engine.start();
    service.engine.engine.wake();
    const job = await service.ended(id);
    await service.engine.stop();
    expect(job).toMatchObject({ status: 'failed', failureClass: 'permission_denied' });
    expect(model.calls).toEqual([]);
  });

  test('a tenant may use its share of the jobs, and other tenants do not reduce it', async () => {
    const stage = new EmbeddingsStage(store());
    const service = stage.embeddings({ concurrencyMax: 0, options: { activeJobsMax: 10, jobShareMax: 2 } });
    for (const text of ['a', 'b']) await service.start({ text });
    await expect(service.start({ text: 'c' }, { key: 'k' })).rejects.toMatchObject({ code: 'queue_full' });
    expect(await service.start({ text: 'c' }, { as: 'bob' })).toMatchObject({ status: 'queued' });
    // Naming another product gives the caller no second share.
    const named = { productId: 'invented', tenantId: stage.space };
    await expect(service.start({ text: 'c' }, { query: named })).rejects.toMatchObject({
      code: 'queue_full',
    });
    const [newest] = (await service.list()).jobs;
    await service.cancel(newest?.id ?? '');
    // The key of the refused request is free.
    expect(await service.start({ text: 'c' }, { key: 'k' })).toMatchObject({
      admission: { replayed: false },
    });
  });
}
