import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The effects on runs that only the whole chain shows: headers, statuses, and where a member and a header say the same. */

let service: RunningService;
beforeAll(async () => {
  service = await startService({
    settings: {
      'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'work',
      'ExecutionRuntime:ExternalHandlers:0:PluginId': 'plugin',
      'ExecutionRuntime:MaxActiveRuns': '20',
    },
    groups: ['execution'],
  });
});
afterAll(() => service.close());

interface Problem {
  readonly type: string;
  readonly status: number;
  readonly admission?: { readonly resourceId: string; readonly failureClass: string };
}

const start = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path: '/execution/runs', headers, body: { handlerId: 'work', ...body } });
const get = (path: string) => service.call({ method: 'GET', path });
const cancel = (id: string) => service.call({ method: 'DELETE', path: `/execution/runs/${id}` });
let keys = 0;
const newKey = () => `key ${++keys}`;

/** Each test leaves no active run behind. */
async function started(body: object, headers: Readonly<Record<string, string>> = {}) {
  const answer = await start(body, headers);
  expect(answer.body).toContain('"id"');
  expect(answer.status).toBe(202);
  const run = answer.json<ExecutionRun>();
  return { answer, run, replayed: answer.headers['idempotency-replayed'] ?? null };
}

describe('the key of a start', () => {
  test.each(['Idempotency-Key', 'X-Idempotency-Key'])('is that of the header %s', async (name) => {
    const key = newKey();
    const first = await started({ payload: 1 }, { [name]: key });
    expect(first.answer.headers.location).toBe(`/execution/runs/${first.run.id}`);
    expect(first.replayed).toBeNull();
    for (const again of [
      await started({ payload: 1 }, { [name]: key }),
      await started({ payload: 1, idempotencyKey: key }),
      await started({ payload: 1, idempotencyKey: ` ${key} ` }, { [name]: key }),
    ]) {
      expect(again.run.id).toBe(first.run.id);
      expect(again.replayed).toBe('true');
      expect(again.answer.headers.location).toBe(`/execution/runs/${first.run.id}`);
    }
    await cancel(first.run.id);
  });

  test('must be the same in header and body', async () => {
    const key = newKey();
    const answer = await start({ idempotencyKey: `${key}!` }, { 'Idempotency-Key': key });
    expect(answer.status).toBe(400);
    const fresh = await started({ idempotencyKey: key });
    expect(fresh.replayed).toBeNull();
    await cancel(fresh.run.id);
  });

  test('conflicts with 409, and the first run stays unchanged', async () => {
    const key = newKey();
    const { run } = await started({ payload: 1, idempotencyKey: key });
    const answer = await start({ payload: 2 }, { 'Idempotency-Key': key });
    expect(answer.status).toBe(409);
    expect(answer.json<Problem>().type).toBe('urn:svc:problem:idempotency_conflict');
    expect((await get(`/execution/runs/${run.id}`)).json()).toEqual(run);
    await cancel(run.id);
  });
});

describe('a start that is not admitted', () => {
  test.each([
    [{ handlerId: 'nobody' }, 'handler_missing'],
    [{ pluginId: 'other' }, 'plugin_mismatch'],
  ])('of %o is answered with its receipt, and its run can be read', async (body, code) => {
    const answer = await start(body);
    expect(answer.status).toBe(400);
    expect(answer.headers.location).toBeUndefined();
    const problem = answer.json<Problem>();
    expect(problem.type).toBe(`urn:svc:problem:${code}`);
    expect(problem.admission).toMatchObject({ status: 'rejected', failureClass: code });
    const read = await get(`/execution/runs/${problem.admission?.resourceId}`);
    expect(read.status).toBe(200);
    expect(read.json<ExecutionRun>().status).toBe('rejected');
  });

  test.each([
    { payload: 'x'.repeat(262_143) },
    { retryPolicy: { maxAttempts: 26 } },
    { retryPolicy: { maxAttempts: -1 } },
    { retryPolicy: { initialDelaySeconds: 86_401 } },
    { retryPolicy: { backoffMultiplier: -1 } },
    { tags: { t: 'x'.repeat(513) } },
    { scope: { productId: 'p' } },
    { unknown: true },
  ])('since it breaks a rule is answered with 400 (%#), and nothing is stored', async (body) => {
    const before = (await get('/execution/runs?limit=200')).json();
    expect((await start(body)).status).toBe(400);
    expect((await get('/execution/runs?limit=200')).json()).toEqual(before);
  });

  test('for want of room is answered with 429, its receipt and when to come again', async () => {
    const runs = await Promise.all(Array.from({ length: 30 }, () => start({})));
    const full = runs.filter(({ status }) => status === 429);
    expect(full).toHaveLength(10);
    for (const answer of full) {
      expect(answer.headers['retry-after']).toBe('1');
      const { admission } = answer.json<Problem>();
      expect(admission).toMatchObject({ status: 'rejected', failureClass: 'queue_full' });
      expect((await get(`/execution/runs/${admission?.resourceId}`)).status).toBe(404);
    }
    for (const answer of runs) if (answer.status === 202) await cancel(answer.json<ExecutionRun>().id);
  });
});

describe('queries', () => {
  test('of an unknown status, or with a limit of 0 or beyond the maximum, are answered with 400', async () => {
    for (const query of ['status=done', 'limit=0', 'limit=201', 'createdAfterUtc=yesterday', 'no=1']) {
      expect((await get(`/execution/runs?${query}`)).status, query).toBe(400);
    }
    const { run } = await started({ tags: { 'a/b': 'π %' } });
    for (const query of ['limit=0', 'limit=201']) {
      expect((await get(`/execution/runs/${run.id}/history?${query}`)).status, query).toBe(400);
    }
    const found = await get('/execution/runs?tag.a%2Fb=%CF%80%20%25');
    expect(found.json<ExecutionRun[]>().map(({ id }) => id)).toEqual([run.id]);
    await cancel(run.id);
  });

  test('name a tag as tag.<key> or tags.<key>, and once', async () => {
    const { run } = await started({ tags: { color: 'red', size: 'xl' } });
    const other = await started({ tags: { color: 'red', size: 's' } });
    for (const query of ['tag.color=red&tag.size=xl', 'tags.color=red&tag.size=xl', 'tags.size=xl']) {
      const found = await get(`/execution/runs?${query}`);
      expect(
        found.json<ExecutionRun[]>().map(({ id }) => id),
        query,
      ).toEqual([run.id]);
    }
    expect((await get('/execution/runs?tags.size=m')).json()).toEqual([]);
    for (const query of ['tag.size=xl&tags.size=xl', 'tags.=red', 'tags=red'])
      expect((await get(`/execution/runs?${query}`)).status, query).toBe(400);
    for (const { id } of [run, other.run]) await cancel(id);
  });
});

describe('a checkpoint', () => {
  test.each(['k/1', 'a b/%2F?#\\', 'π'])('with the key %j is read back by everybody who may', async (key) => {
    const { run } = await started({});
    const post = (path: string, body: object) => service.call({ method: 'POST', path, body });
    const leases = '/execution/workers/leases';
    const leased = await post(leases, { workerId: 'w', handlerIds: ['work'], runId: run.id });
    const { leaseKey, leaseToken } = leased.json<{ leaseKey: string; leaseToken: string }>();
    const proof = { leaseKey, leaseToken, workerId: 'w' };
    const written = await post(`${leases}/checkpoints`, { ...proof, checkpoint: { key, content: { n: 1 } } });
    expect(written.json()).toMatchObject({ key });
    const read = await get(`/execution/runs/${run.id}/checkpoints/${encodeURIComponent(key)}`);
    expect([read.status, read.json()]).toEqual([200, written.json()]);
    expect((await post(`${leases}/complete`, { ...proof, result: {} })).status).toBe(200);
  });
});
