import { expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';

export function describeCollectionJobs({ store }: JobsConformance): void {
  test('a collection is created once, keeps its first policy, and another policy fails the run', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    const policy = { name: 'c', indexedMetadata: ['/metadata/b', '/metadata/a'] };
    const create = (body: object, key?: string) =>
      service.answer<ExecutionRun>(
        'POST',
        '/collections',
        { body, ...(key === undefined ? {} : { key }) },
        202,
      );
    const run = await create(policy, 'k');
    expect(run).toMatchObject({
      handlerId: 'svc.collections.create',
      pluginId: 'svc.collections',
      maxAttempts: 3,
      tags: { 'svc.job': 'collection-management', 'svc.admission.operation-id': 'createCollection' },
      admission: { operationId: 'createCollection', statusUri: `/execution/runs/${run.id}`, replayed: false },
    });
    await stage.quiet();
    const stored = await service.execution.get(run.id);
    expect(stored).toMatchObject({ status: 'succeeded', result: { ...policy, vectorPolicies: [] } });
    const equal = await create({ name: 'c', indexedMetadata: ['/metadata/a', '/metadata/b'] });
    await stage.quiet();
    expect((await service.execution.get(equal.id)).result).toEqual(stored.result);
    const other = await create({ name: 'c', indexedMetadata: [] });
    await stage.quiet();
    expect(await service.execution.get(other.id)).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
    });
    expect(await service.answer('GET', '/collections/c')).toMatchObject(policy);
    const pathless = await create({ name: 'd', indexedMetadata: ['/metadata/a', 'metadata.b'] });
    await stage.quiet();
    expect(await service.execution.get(pathless.id)).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      error:
        'The request is not valid: /policy/indexedMetadata/1: must be a JSON Pointer whose segments hold letters, digits, _ and -, such as /metadata/type',
    });
    const replay = await service.call('POST', '/collections', { body: policy, key: 'k' });
    expect(replay.json()).toMatchObject({ id: run.id, status: 'succeeded', admission: { replayed: true } });
    expect(replay.headers).toMatchObject({ location: `/execution/runs/${run.id}` });
    expect((await service.call('POST', '/collections', { body: { name: 'd' }, key: 'k' })).status).toBe(409);
  });

  test('a deleted collection disappears at once, and its records are swept later, also in parts', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c', 250);
    const { id } = await service.answer<ExecutionRun>('DELETE', '/collections/c', {}, 202);
    await stage.quiet();
    expect(await service.execution.get(id)).toMatchObject({ status: 'succeeded', result: null });
    expect(await service.count('c')).toBeNull();
    await created(stage, service, 'c', 3);
    expect(await service.count('c')).toBe(3);
    expect(await service.maintain()).toMatchObject({ retiredRecords: 0 });
    stage.time.advance(600_000);
    let asked = 0;
    const first = await service.maintain(() => {
      asked += 1;
      return asked > 2;
    });
    expect(first['retiredRecords']).toBeGreaterThan(0);
    expect(first['retiredRecords']).toBeLessThan(250);
    stage.time.advance(120_000);
    const rest = await service.maintain();
    expect((first['retiredRecords'] ?? 0) + (rest['retiredRecords'] ?? 0)).toBe(250);
    expect(rest).toMatchObject({ retiredCollections: 1 });
    expect(await service.count('c')).toBe(3);
    const again = await service.answer<ExecutionRun>('DELETE', '/collections/absent', {}, 202);
    await stage.quiet();
    expect(await service.execution.get(again.id)).toMatchObject({ status: 'succeeded' });
  });

  test('refused callers and half a scope admit nothing', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0 });
    const body = { name: 'c' };
    for (const query of ['?productId=p', `?tenantId=${stage.space}`])
      expect((await service.call('POST', `/collections${query}`, { body })).status).toBe(400);
    expect((await service.call('POST', '/collections?productId=p&tenantId=t', { body })).status).toBe(403);
    expect((await service.call('POST', '/collections', { body, as: 'reader' })).status).toBe(403);
    expect((await service.call('DELETE', '/collections/c', { as: 'reader' })).status).toBe(403);
    expect(await service.execution.list()).toEqual([]);
  });
}

export async function created(
  stage: RecordsStage,
  service: ReturnType<RecordsStage['records']>,
  name: string,
  count = 0,
): Promise<void> {
  await service.answer('POST', '/collections', { body: { name } }, 202);
  await stage.quiet();
  if (count === 0) return;
  const body = { records: recordsOf(count) };
  await service.answer('POST', `/collections/${name}/records/batch/jobs`, { body }, 202);
  await stage.quiet();
}
