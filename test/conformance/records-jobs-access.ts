import { expect, test } from 'vitest';
import type { RecordImportJob } from '../../contracts/generated/models.ts';
import type { ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { type RecordsInstance, RecordsStage, recordsOf } from '../support/records-stage.ts';
import type { JobsConformance } from './jobs-suite.ts';
import { created } from './records-jobs-collections.ts';

const BATCH = '/collections/c/records/batch';
const JOBS = '/record-import/jobs';
const body = { records: recordsOf(1) };
const snapshot = { snapshot: { collection: 'c', policy: { name: 'c' }, records: recordsOf(1) } };

function grant(principal: string, productId: string, more: Partial<ExecutionGrant> = {}): ExecutionGrant {
  const operations = ['start_run', 'read_run', 'cancel_run'] as const;
  return { principal, productId, workerId: null, tenantIds: [], handlerIds: [], operations, ...more };
}

/** `ada` and `carl` share a space and have a product each; `reader` may start runs, and may not write records. */
const executionGrants = [grant('ada', 'p'), grant('carl', 'q'), grant('reader', 'p'), grant('bob', 'p')];

/** The jobs of records where policies of the execution runtime exist beside those of records. */
export function describeJobAccess({ store }: JobsConformance): void {
  const scoped = (stage: RecordsStage, path: string, productId: string) =>
    `${path}?productId=${productId}&tenantId=${stage.space}`;

  async function started(stage: RecordsStage, service: RecordsInstance, as: string, productId: string) {
    const path = scoped(stage, BATCH, productId);
    return (await service.answer<RecordImportJob>('POST', path, { body, as }, 202)).id;
  }

  test('a start as a run needs the right to start it for the product, and the right to write', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ executionGrants, concurrencyMax: 0 });
    for (const [path, sent] of [
      [BATCH, body],
      ['/collections/c/import', snapshot],
    ] as const) {
      const statusOf = async (at: string, as: string) =>
        (await service.call('POST', at, { body: sent, as })).status;
      expect(await statusOf(scoped(stage, path, 'p'), 'ada')).toBe(202);
      // Without a product, with that of another, and without the right to write.
      expect(await statusOf(path, 'ada')).toBe(403);
      expect(await statusOf(scoped(stage, path, 'q'), 'ada')).toBe(403);
      expect(await statusOf(scoped(stage, path, 'p'), 'reader')).toBe(403);
      expect(await statusOf(scoped(stage, path, 'p'), 'stranger')).toBe(403);
      // The job of the other operation asks for the records' right alone.
      expect(await statusOf(`${path}/jobs`, 'ada')).toBe(202);
      expect(await statusOf(`${path}/jobs`, 'reader')).toBe(403);
    }
    expect(await service.execution.list()).toHaveLength(4);
  });

  test('a start needs a grant for its handler', async () => {
    const stage = new RecordsStage(store());
    const handlerIds = ['svc.records.batch-upsert'];
    const service = stage.records({
      executionGrants: [grant('ada', 'p', { handlerIds })],
      concurrencyMax: 0,
    });
    const path = scoped(stage, '/collections/c/import', 'p');
    expect((await service.call('POST', path, { body: snapshot })).status).toBe(403);
    await started(stage, service, 'ada', 'p');
  });

  test('a job of another product is refused, one of another space does not exist', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ executionGrants, concurrencyMax: 0 });
    const id = await started(stage, service, 'ada', 'p');
    const answers = [
      ['GET', 'ada', 200],
      ['GET', 'carl', 403],
      ['GET', 'bob', 404],
      ['GET', 'stranger', 403],
      ['DELETE', 'carl', 403],
      ['DELETE', 'bob', 404],
      ['DELETE', 'reader', 403],
      ['DELETE', 'ada', 200],
    ] as const;
    for (const [method, as, status] of answers) {
      expect([method, as, (await service.call(method, `${JOBS}/${id}`, { as })).status]).toEqual([
        method,
        as,
        status,
      ]);
    }
  });

  test('a list shows the jobs that its caller may see, and jobs of others make no page short', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ executionGrants, concurrencyMax: 0 });
    const own: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      own.unshift(await started(stage, service, 'carl', 'q'));
      for (let other = 0; other < 3; other += 1) await started(stage, service, 'ada', 'p');
    }
    const pages = await listed(service, 'carl', 2);
    expect(pages).toEqual([own.slice(0, 2), own.slice(2)]);
    expect((await listed(service, 'ada', 4)).map((page) => page.length)).toEqual([4, 4, 1]);
    expect(await listed(service, 'bob', 2)).toEqual([[]]);
  });

  test('an executed job is seen by those of its product alone', async () => {
    const stage = new RecordsStage(store());
    const service = stage.records({ executionGrants });
    await created(stage, service, 'c');
    const id = await started(stage, service, 'ada', 'p');
    await stage.quiet();
    const done = await service.answer<RecordImportJob>('GET', `${JOBS}/${id}`);
    expect(done).toMatchObject({ status: 'succeeded', batchResult: { succeeded: 1 } });
    expect((await service.call('GET', `${JOBS}/${id}`, { as: 'carl' })).status).toBe(403);
    expect(await listed(service, 'carl', 5)).toEqual([[]]);
  });
}

/** The ids of each page of the list, up to the last. */
async function listed(service: RecordsInstance, as: string, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let path: string | undefined = `${JOBS}?limit=${limit}`;
  while (path !== undefined) {
    const answer = await service.call('GET', path, { as });
    expect(answer.status, answer.body).toBe(200);
    pages.push(answer.json<RecordImportJob[]>().map(({ id }) => id));
    const link = new Headers(answer.headers).get('Link') ?? '';
    path = /<([^>]+)>; rel="next"/.exec(link)?.[1];
  }
  return pages;
}
