import { expect, test } from 'vitest';
import type { RecordImportJob } from '../../contracts/generated/models.ts';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { holdingStore } from './records-jobs-batches.ts';
import { created } from './records-jobs-collections.ts';

const PATH = '/collections/c/records/batch/jobs';
/** More than a run holds inline. */
const LARGE = { records: recordsOf(100, { content: { text: 'x'.repeat(1_000) } }) };

export function describeStaging({ store, local }: JobsConformance): void {
  test('a large request is staged, executed, and its payload removed', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body: LARGE }, 202);
    expect(await stagedBytes(stage)).toBeGreaterThan(100_000);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'succeeded', succeeded: 100 });
    expect(await stagedBytes(stage)).toBe(0);
    expect(await service.count('c')).toBe(100);
  });

  test('a staged payload that is damaged writes nothing', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    const { payloads } = service;
    const read = payloads.read.bind(payloads);
    payloads.read = async (reference) => (await read(reference)).replace('"r42"', '"r43"');
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body: LARGE }, 202);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'content_hash_mismatch' });
    expect(await service.count('c')).toBe(0);
    expect(await stagedBytes(stage)).toBe(0);
  });

  test('a replay stages no payload, and a refusal by a full queue removes the staged one', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0, options: { activeJobsMax: 10, jobShareMax: 1 } });
    const first = await service.answer<RecordImportJob>('POST', PATH, { body: LARGE, key: 'k' }, 202);
    const staged = await stagedBytes(stage);
    const again = await service.answer<RecordImportJob>('POST', PATH, { body: LARGE, key: 'k' }, 202);
    expect(again).toMatchObject({ id: first.id, admission: { replayed: true } });
    expect((await service.call('POST', PATH, { body: LARGE, key: 'other' })).status).toBe(429);
    expect(await stagedBytes(stage)).toBe(staged);
    // Cancelling a job before its start also removes its payload.
    await service.answer('DELETE', `/record-import/jobs/${first.id}`);
    expect(await stagedBytes(stage)).toBe(0);
  });

  local('a job that is cancelled while it runs frees its payload when it stops', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const slow = stage.records({ over: holdingStore(stage, held, 1) });
    const records = recordsOf(300, { content: { text: 'x'.repeat(1_000) } });
    const { id } = await slow.answer<RecordImportJob>('POST', PATH, { body: { records } }, 202);
    await stage.quiet();
    expect(await stagedBytes(stage)).toBeGreaterThan(300_000);
    await slow.answer('DELETE', `/record-import/jobs/${id}`);
    expect(await stagedBytes(stage)).toBeGreaterThan(300_000);
    go();
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'cancelled' });
    expect(await stagedBytes(stage)).toBe(0);
  });

  test('an import whose payload changed after its admission fails, writes nothing and removes the payload', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    await service.answer('POST', PATH, { body: LARGE }, 202);
    await stage.quiet();
    const snapshot = (await service.call('GET', '/collections/c/export')).body;
    const read = service.payloads.read.bind(service.payloads);
    service.payloads.read = async (reference) => (await read(reference)).replace('"r99"', '"r999"');
    const body = `{"snapshot":${snapshot},"replaceExisting":true}`;
    const { id } = await service.answer<RecordImportJob>('POST', '/collections/c/import/jobs', { body }, 202);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'content_hash_mismatch', attempted: 0 });
    expect(await service.count('c')).toBe(100);
    const { records } = await service.answer<{ records: { id: string }[] }>('GET', '/collections/c/export');
    expect(records.map(({ id: name }) => name)).not.toContain('r999');
    expect(await stagedBytes(stage)).toBe(0);
  });

  test('a tenant cannot stage more than its room, and a payload over the limit is refused', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0, spaceBytesMax: 150_000, payloadBytesMax: 200_000 });
    await service.answer('POST', PATH, { body: LARGE }, 202);
    const full = await service.call('POST', PATH, { body: LARGE });
    expect(full.json()).toMatchObject({ status: 429, code: 'queue_full', admission: { status: 'rejected' } });
    expect((await service.call('POST', PATH, { body: LARGE, as: 'bob' })).status).toBe(202);
    const larger = { records: recordsOf(100, { content: { text: 'x'.repeat(3_000) } }) };
    const refused = await service.call('POST', PATH, { body: larger });
    expect(refused.json()).toMatchObject({ status: 400, code: 'limit_exceeded' });
    expect(refused.body).toContain('Durable record import payload cannot exceed');
  });

  test('maintenance removes the staged payload of a crash, and never the payload of an active job', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0 });
    // The process died between staging and admission.
    await service.payloads.stage(stage.space, 'x'.repeat(1_000));
    const before = await stagedBytes(stage);
    expect(before).toBe(1_000);
    await service.answer('POST', PATH, { body: LARGE }, 202);
    stage.time.advance(3_600_000);
    const both = await stagedBytes(stage);
    expect((await service.maintain())['jobLeftovers']).toBeGreaterThan(0);
    expect(await stagedBytes(stage)).toBe(both - 1_000);
  });
}

async function stagedBytes(stage: RecordsStage): Promise<number> {
  const keys = [{ key: stagedBytesKey(stage.space) }];
  const { records } = await stage.store.query(UPKEEP_SCOPE, { by: 'keys', keys });
  return Number(records[0]?.head['bytes'] ?? 0);
}
