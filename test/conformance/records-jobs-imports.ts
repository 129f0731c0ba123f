import { expect, test } from 'vitest';
import type { RecordImportJob } from '../../contracts/generated/models.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { created } from './records-jobs-collections.ts';

const PATH = '/collections/c/import/jobs';

interface Snapshot {
  readonly records: readonly object[];
  readonly contentHash?: string | null;
}

const importOf = (records: readonly object[], more: object = {}, snapshot: Partial<Snapshot> = {}) => ({
  snapshot: { collection: 'c', policy: { name: 'c' }, records, ...snapshot },
  ...more,
});

export function describeImports(conformance: JobsConformance): void {
  describeResults(conformance);
  describeReplacing(conformance);
  describeChecks(conformance);
}

function describeResults({ store }: JobsConformance): void {
  test('an export is imported unchanged, under a new name too', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c', 30);
    const snapshot = (await service.call('GET', '/collections/c/export')).body;
    const body = `{"snapshot":${snapshot},"allowCollectionRename":true}`;
    const path = '/collections/d/import/jobs';
    const { id } = await service.answer<RecordImportJob>('POST', path, { body }, 202);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({
      kind: 'collection_import',
      status: 'succeeded',
      collection: 'd',
      sourceCollection: 'c',
      requested: 30,
      succeeded: 30,
      batchResult: null,
      importResult: {
        collection: 'd',
        sourceCollection: 'c',
        policyStatus: 'created',
        recordCount: 30,
        contentHashComparison: { kind: 'collectionSnapshot', status: 'matched', matches: true },
        records: { collection: 'd', requested: 30, succeeded: 30 },
      },
    });
    const again = await service.answer<RecordImportJob>('POST', path, { body }, 202);
    await stage.quiet();
    const second = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${again.id}`);
    expect(second.importResult).toMatchObject({ policyStatus: 'existing_equivalent' });
    const revisions = second.importResult?.records.items.map(({ revision }) => revision);
    expect(revisions).toEqual(Array(30).fill(2));
  });

  test('a policy that differs fails the import, and the collection stays', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c', 2);
    const policy = { name: 'c', indexedMetadata: ['/metadata/index'] };
    const body = importOf(recordsOf(5), {}, { policy } as object);
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body }, 202);
    await stage.quiet();
    expect(await service.answer('GET', `/record-import/jobs/${id}`)).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      importResult: null,
    });
    expect(await service.count('c')).toBe(2);
  });
}

function describeReplacing({ store }: JobsConformance): void {
  test('readers of a collection that is replaced see the old or the new records, never a mix', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c', 5);
    const body = importOf(recordsOf(250, { type: 'new' }), { replaceExisting: true });
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body }, 202);
    const seen = new Set<string>();
    let status = 'queued';
    while (status !== 'succeeded') {
      const path = '/collections/c/query';
      const query = { body: { filter: { path: '/partitionKey', value: 'p' } } };
      const { items } = await service.answer<{ items: { type: string }[] }>('POST', path, query);
      seen.add([...new Set(items.map(({ type }) => type)), items.length].join(' '));
      ({ status } = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`));
    }
    seen.add(`new ${await service.count('c')}`);
    expect([...seen].filter((each) => each !== 'note 5')).toEqual(['new 250']);
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job.importResult).toMatchObject({ policyStatus: 'replaced', recordCount: 250 });
    stage.time.advance(600_000);
    expect(await service.maintain()).toMatchObject({ retiredRecords: 5 });
    expect(await service.count('c')).toBe(250);
  });

  test('a failing replacement keeps the old collection, and its loaded records are swept', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c', 5);
    const records = [...recordsOf(150), { id: 'bad', partitionKey: ' ' }, ...recordsOf(2)];
    const body = importOf(records, { replaceExisting: true });
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body }, 202);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'validation', attempted: 151, failed: 1 });
    expect(job.error).toMatch(
      /^The request is not valid: \/snapshot\/records\/150: is refused: \/partitionKey: .*; the collection is as it was$/,
    );
    expect(await service.count('c')).toBe(5);
    stage.time.advance(600_000);
    expect(await service.maintain()).toMatchObject({ retiredRecords: 150 });
    expect(await service.count('c')).toBe(5);
  });

  test('a replacing import needs the right to delete, when it starts and when it is executed', async () => {
    const stage = new RecordsStage(store());
    const api = stage.records({ concurrencyMax: 0 });
    const service = stage.records();
    await created(stage, service, 'c', 5);
    const body = importOf(recordsOf(3, { type: 'new' }), { replaceExisting: true });
    for (const path of ['/collections/c/import', PATH, '/collections/absent/import/jobs']) {
      const snapshot = { ...body.snapshot, collection: path.split('/')[2] };
      const call = { as: 'writer', body: { ...body, snapshot } };
      const refused = await service.answer<{ code: string }>('POST', path, call, 403);
      expect(refused.code).toBe('permission_denied');
    }
    const merged = await service.answer<RecordImportJob>(
      'POST',
      PATH,
      { as: 'writer', body: importOf([]) },
      202,
    );
    await stage.quiet();
    const admitted = await api.answer<RecordImportJob>('POST', PATH, { body }, 202);
    stage.grants = stage.grants.map((grant) =>
      grant.principal === 'ada' ? { ...grant, operations: ['read', 'write'] } : grant,
    );
    await service.engine.engine.deliver(admitted.id);
    await stage.quiet();
    const job = ({ id }: RecordImportJob) =>
      service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(await job(merged)).toMatchObject({ status: 'succeeded' });
    expect(await job(admitted)).toMatchObject({ status: 'failed', attempted: 0 });
    expect(await service.count('c')).toBe(5);
  });
}

function describeChecks({ store }: JobsConformance): void {
  test('an invalid import is refused before its admission', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0 });
    const records = recordsOf(2);
    const refused: readonly (readonly [string, object])[] = [
      ['validation_failed', importOf(records, {}, { collection: 'other' } as object)],
      ['validation_failed', importOf(records, {}, { recordCount: 3 } as object)],
      ['validation_failed', importOf(records, {}, { truncated: true } as object)],
      ['content_hash_mismatch', importOf(records, { expectedContentHash: `sha256:${'0'.repeat(64)}` })],
      ['content_hash_mismatch', importOf(records, {}, { contentHash: `sha256:${'a'.repeat(64)}` })],
    ];
    for (const [code, body] of refused)
      expect((await service.call('POST', PATH, { body })).json()).toMatchObject({ code });
    expect(await service.answer('GET', '/record-import/jobs')).toEqual([]);
    for (const more of [{ truncated: true }, { collection: 'other' }]) {
      const body = importOf(
        records,
        { allowCollectionRename: true, allowPartialSnapshot: true },
        more as object,
      );
      expect((await service.call('POST', PATH, { body })).status).toBe(202);
    }
  });
}
