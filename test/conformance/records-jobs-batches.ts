import { expect, test } from 'vitest';
import type { RecordImportJob } from '../../contracts/generated/models.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { created } from './records-jobs-collections.ts';

const PATH = '/collections/c/records/batch/jobs';

export function describeBatches(conformance: JobsConformance): void {
  describeOutcomes(conformance);
  describeLife(conformance);
  describeSlots(conformance);
  describeRefusals(conformance);
}

function describeOutcomes({ store }: JobsConformance): void {
  for (const continueOnError of [false, true]) {
    test(`a batch of which item 500 fails keeps the items before it, continueOnError ${continueOnError}`, async () => {
      const stage = new RecordsStage(store());
      const service = stage.records();
      await created(stage, service, 'c');
      const records = recordsOf(600);
      const preconditions = records.map((_, index) => (index === 500 ? { expectedRevision: 7 } : {}));
      const body = { records, preconditions, continueOnError };
      const job = await service.answer<RecordImportJob>('POST', PATH, { body }, 202);
      expect(job).toMatchObject({
        kind: 'batch_upsert',
        collection: 'c',
        status: 'queued',
        requested: 600,
        batchResult: null,
        importResult: null,
      });
      await stage.quiet();
      const done = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${job.id}`);
      const attempted = continueOnError ? 600 : 501;
      const counts = { requested: 600, attempted, succeeded: attempted - 1, failed: 1 };
      expect(done).toMatchObject({
        status: 'succeeded',
        ...counts,
        progress: 1,
        stoppedOnError: !continueOnError,
      });
      const { items, ...summary } = done.batchResult ?? { items: [] };
      expect(summary).toEqual({ collection: 'c', ...counts, stoppedOnError: !continueOnError });
      expect(items).toHaveLength(attempted);
      expect(items[499]).toMatchObject({
        index: 499,
        id: 'r499',
        status: 'succeeded',
        etag: 'rev:1',
        revision: 1,
      });
      expect(items[500]).toMatchObject({ index: 500, id: 'r500', status: 'failed', revision: null });
      expect(items[500]?.error).toContain('current revision does not match');
      expect(await service.count('c')).toBe(attempted - 1);
    });
  }

  test('a record that breaks a rule stops its batch, and the view of the job names its index and its member', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    const records = [...recordsOf(2), { id: 'bad', partitionKey: ' ' }, ...recordsOf(1)];
    const { id } = await service.answer<RecordImportJob>('POST', PATH, { body: { records } }, 202);
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({
      status: 'succeeded',
      stoppedOnError: true,
      attempted: 3,
      failed: 1,
      error: null,
    });
    expect(job.batchResult?.items.at(-1)).toMatchObject({
      index: 2,
      id: 'bad',
      status: 'failed',
      error: expect.stringMatching(/^\/partitionKey: must /),
    });
  });

  test('a result that is too large for a run is in the view of the job all the same', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ resultBytesMax: 1_000 });
    await created(stage, service, 'c');
    const { id } = await service.answer<RecordImportJob>(
      'POST',
      PATH,
      { body: { records: recordsOf(120) } },
      202,
    );
    await stage.quiet();
    const done = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(done.batchResult?.items.map(({ id: name }) => name)).toEqual(
      recordsOf(120).map(({ id: name }) => name),
    );
    const [artifact] = await service.execution.artifacts(id);
    expect(artifact).toMatchObject({ name: 'record-batch-upsert-result', content: done.batchResult });
    const lists = [
      await service.answer<RecordImportJob[]>('GET', '/record-import/jobs'),
      await service.answer<RecordImportJob[]>('GET', '/record-import/jobs?includeResult=true'),
    ];
    expect(lists.map(([job]) => job?.batchResult)).toEqual([null, done.batchResult]);
  });

  test('a batch on a collection that does not exist fails', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    const { id } = await service.answer<RecordImportJob>(
      'POST',
      PATH,
      { body: { records: recordsOf(1) } },
      202,
    );
    await stage.quiet();
    const job = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(job).toMatchObject({ status: 'failed', failureClass: 'collection_not_found', batchResult: null });
    expect(job.error).toContain('does not exist');
  });
}

function describeLife({ store, local }: JobsConformance): void {
  local('a cancelled batch stops between two chunks and keeps what it wrote', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const slow = stage.records({ over: holdingStore(stage, held, 2) });
    const { id } = await slow.answer<RecordImportJob>(
      'POST',
      PATH,
      { body: { records: recordsOf(300) } },
      202,
    );
    await stage.quiet();
    const running = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(running).toMatchObject({ status: 'running', attempted: 100, succeeded: 100 });
    const asked = await slow.answer<RecordImportJob>('DELETE', `/record-import/jobs/${id}`);
    expect(asked).toMatchObject({ status: 'running', cancellationRequested: true });
    go();
    await stage.quiet();
    const done = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${id}`);
    expect(done).toMatchObject({ status: 'cancelled' });
    expect(await service.count('c')).toBe(200);
  });

  local('jobs on one collection follow one another, and those of another tenant do not wait', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records();
    await created(stage, service, 'c');
    await service.answer('POST', '/collections', { body: { name: 'c' }, as: 'bob' }, 202);
    await stage.quiet();
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const busy = stage.records({ over: holdingStore(stage, held, 1), concurrencyMax: 4 });
    const body = { records: recordsOf(1) };
    const ids: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      ids.push((await busy.answer<RecordImportJob>('POST', PATH, { body }, 202)).id);
      // The second may be leased before the first while both are new; the jobs that wait are leased by their age.
      await stage.quiet();
    }
    const theirs = await service.answer<RecordImportJob>('POST', PATH, { body, as: 'bob' }, 202);
    await stage.quiet();
    const other = await service.answer<RecordImportJob>('GET', `/record-import/jobs/${theirs.id}`, {
      as: 'bob',
    });
    expect(other).toMatchObject({ status: 'succeeded' });
    const waiting = await service.answer<RecordImportJob[]>('GET', '/record-import/jobs');
    expect(waiting.map(({ status }) => status).sort()).toEqual([...Array(5).fill('queued'), 'running']);
    go();
    await stage.quiet();
    const ended = await service.answer<RecordImportJob[]>('GET', '/record-import/jobs?includeResult=true');
    const revisions = ids.map((id) => ended.find((job) => job.id === id)?.batchResult?.items[0]?.revision);
    expect(revisions).toEqual([1, 2, 3, 4, 5, 6]);
  });
}

function describeSlots({ store, local }: JobsConformance): void {
  for (const isQueued of [false, true]) {
    const when = isQueued ? 'that all wait' : 'as they come';
    local(`the jobs of one space leave a slot for the job of another, of jobs ${when}`, async () => {
      const stage = new RecordsStage(store());
      const names = ['a', 'b', 'c', 'd'];
      const service = stage.records();
      for (const name of names) await created(stage, service, name);
      await service.answer('POST', '/collections', { body: { name: 'c' }, as: 'bob' }, 202);
      await stage.quiet();
      let go = (): void => undefined;
      const held = new Promise<void>((resolve) => (go = resolve));
      const over = holdingStore(stage, held, { each: stage.space });
      const busy = stage.records({ over, concurrencyMax: 4 });
      const admits = isQueued ? stage.records({ concurrencyMax: 0 }) : busy;
      const body = { records: recordsOf(1) };
      const admitted = async (name: string, as = 'ada') => {
        const path = `/collections/${name}/records/batch/jobs`;
        return admits.answer<RecordImportJob>('POST', path, { body, as }, 202);
      };
      for (const name of names) await admitted(name);
      if (!isQueued) await stage.quiet();
      const { id } = await admitted('c', 'bob');
      if (isQueued) busy.engine.engine.wake();
      await stage.quiet();
      const path = `/record-import/jobs/${id}`;
      expect(await service.answer('GET', path, { as: 'bob' })).toMatchObject({ status: 'succeeded' });
      const statuses = async () =>
        (await service.answer<RecordImportJob[]>('GET', '/record-import/jobs')).map(({ status }) => status);
      expect((await statuses()).sort()).toEqual(['queued', 'running', 'running', 'running']);
      go();
      await stage.quiet();
      expect(await statuses()).toEqual(Array(4).fill('succeeded'));
    });
  }
}

/** A store that holds the nth commit of a chunk until `held` settles; `each`: every commit of a chunk in this space. */
export function holdingStore(
  stage: RecordsStage,
  held: Promise<void>,
  nth: number | { readonly each: string },
): RecordsStage['store'] {
  let chunks = 0;
  return new Proxy(stage.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'transact') return member.bind(target) as unknown;
      const transact: RecordsStage['store']['transact'] = async (scope, request, decide) => {
        if (scope.kind === 'spaces' && request.keys.some(({ key }) => key.collection === 'records')) {
          chunks += 1;
          if (typeof nth === 'number' ? chunks === nth : scope.name === nth.each) await held;
        }
        return target.transact(scope, request, decide);
      };
      return transact;
    },
  });
}

function describeRefusals({ store }: JobsConformance): void {
  test('a job of another space does not exist, and a missing right is refused first', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0 });
    const { id } = await service.answer<RecordImportJob>(
      'POST',
      PATH,
      { body: { records: recordsOf(1) } },
      202,
    );
    const path = `/record-import/jobs/${id}`;
    for (const [method, as, status] of [
      ['GET', 'bob', 404],
      ['DELETE', 'bob', 404],
      ['GET', 'reader', 200],
      ['DELETE', 'reader', 403],
      ['GET', 'stranger', 403],
    ] as const)
      expect((await service.call(method, path, { as })).status).toBe(status);
    expect(await service.answer('GET', '/record-import/jobs', { as: 'bob' })).toEqual([]);
    expect((await service.call('POST', PATH, { as: 'reader', body: { records: recordsOf(1) } })).status).toBe(
      403,
    );
    expect(await service.answer('DELETE', path)).toMatchObject({ status: 'cancelled' });
  });

  test('the same key answers the first job, and another payload is a conflict', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ concurrencyMax: 0 });
    const send = (count: number, path = PATH) =>
      service.call('POST', path, { body: { records: recordsOf(count) }, key: 'k' });
    const first = (await send(2)).json<RecordImportJob>();
    const again = await send(2);
    expect(again.headers).toMatchObject({ location: `/record-import/jobs/${first.id}` });
    expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
    expect((await send(3)).status).toBe(409);
    const scoped = `${PATH}?productId=p&tenantId=${stage.space}`;
    expect((await send(2, scoped)).json<RecordImportJob>().id).not.toBe(first.id);
  });
}
