import { describe, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { executionInstance, ownScope } from '../../test/support/execution.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { LogEvent } from '../kernel/log.ts';
import { admitJob, findJob, isJobKeyUsed, type JobRequest } from './admit-job.ts';
import type { JobFacts, JobPlugin } from './job-plugin.ts';

const plugin: JobPlugin = {
  pluginId: 'test.jobs',
  name: 'Jobs of a test',
  family: 'test-jobs',
  statusPath: '/test-jobs',
  handlers: [
    {
      handlerId: 'test.job',
      displayName: 'Does nothing',
      maxAttempts: 1,
      concurrencyKey: 'test.job',
      judge: () => undefined,
      run: () => Promise.resolve(null),
    },
  ],
};

const request: JobRequest = {
  operationId: 'startTestJob',
  handlerId: 'test.job',
  caller: { kind: 'development', principal: null },
  scope: null,
  space: 's',
  payload: { of: 'the caller' },
  idempotencyKey: 'k',
};

function stage() {
  const lines: LogEvent[] = [];
  const instance = executionInstance(new MemoryStore(new MemoryDatabase()), {
    scope: ownScope(),
    jobs: [plugin],
    concurrencyMax: 0,
    log: (line) => lines.push(line),
  });
  return { jobs: { runtime: instance.runtime }, lines };
}

const staged = (discard: () => Promise<void>) => ({ payload: { staged: true }, tags: {}, discard });
const broken = () => Promise.reject(new Error('the place of the bytes is away'));
const line = { severity: 'WARNING', message: expect.stringContaining('could not be removed') };

describe('a staged payload that cannot be removed', () => {
  test('leaves its caller the answer of the rival that was first, and is logged', async () => {
    const { jobs, lines } = stage();
    let rival = '';
    const answer = await admitJob(jobs, plugin, {
      ...request,
      stage: async () => {
        rival = (await admitJob(jobs, plugin, request)).run.id;
        return staged(broken);
      },
    });
    expect([answer.run.id, answer.replayed]).toEqual([rival, true]);
    expect(lines).toContainEqual(expect.objectContaining(line));
  });

  test('leaves its caller the refusal, and is logged', async () => {
    const { jobs, lines } = stage();
    const rivals = async () => {
      await admitJob(jobs, plugin, { ...request, payload: { of: 'another' } });
      return staged(broken);
    };
    await expect(admitJob(jobs, plugin, { ...request, stage: rivals })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
    expect(lines).toContainEqual(expect.objectContaining(line));
  });
});

test('a job is found by its key and its request, and another request under the key is refused', async () => {
  const { jobs } = stage();
  expect([await isJobKeyUsed(jobs, plugin, request), await findJob(jobs, plugin, request)]).toEqual([
    false,
    null,
  ]);
  const { run } = await admitJob(jobs, plugin, request);
  expect(await isJobKeyUsed(jobs, plugin, request)).toBe(true);
  expect(await isJobKeyUsed(jobs, plugin, { ...request, idempotencyKey: null })).toBe(false);
  expect(await findJob(jobs, plugin, request)).toMatchObject({ run: { id: run.id }, replayed: true });
  await expect(findJob(jobs, plugin, { ...request, payload: null })).rejects.toMatchObject({
    code: 'idempotency_conflict',
  });
});

test('a job keeps what its request says, and its answer says where to read it', async () => {
  const { jobs } = stage();
  const tags = { of: 'the caller' };
  const full = { ...request, subject: 'a', requested: 2, correlationId: 'c', tags };
  const { run, replayed, headers } = await admitJob(jobs, plugin, full);
  expect([replayed, headers]).toEqual([false, { Location: `/test-jobs/${run.id}` }]);
  const job = { family: 'test-jobs', statusPath: '/test-jobs', space: 's', caller: request.caller };
  expect(run.job).toEqual({ ...job, subject: 'a', requested: 2 });
  expect(run).toMatchObject({ correlationId: 'c', operationId: 'startTestJob' });
  expect(run.tags).toEqual({
    ...tags,
    'svc.job': 'test-jobs',
    'svc.admission.operation-id': 'startTestJob',
  });
  const repeat = await findJob(jobs, plugin, full);
  expect(repeat?.headers).toEqual({ Location: `/test-jobs/${run.id}`, 'Idempotency-Replayed': 'true' });
});

test('the rules of the handler judge a job before it is admitted', async () => {
  const { jobs } = stage();
  const asked: JobFacts[] = [];
  const refuse = (facts: JobFacts) => {
    asked.push(facts);
    throw new ServiceError('permission_denied', 'not this caller');
  };
  const handlers = plugin.handlers.flatMap((each) => [
    { ...each, handlerId: 'another' },
    { ...each, judge: refuse },
  ]);
  await expect(admitJob(jobs, { ...plugin, handlers }, request)).rejects.toMatchObject({
    code: 'permission_denied',
  });
  const { handlerId, caller, scope, space } = request;
  expect(asked).toEqual([{ handlerId, caller, scope, space, subject: null }]);
  await expect(admitJob(jobs, { ...plugin, handlers: [] }, request)).rejects.toThrow(
    'plugin test.jobs has no handler test.job',
  );
});

test('a payload may have as many bytes as the request allows, and no more', async () => {
  const { jobs } = stage();
  const payloadBytesMax = JSON.stringify(request.payload).length;
  await expect(
    admitJob(jobs, plugin, { ...request, payloadBytesMax: payloadBytesMax - 1 }),
  ).rejects.toMatchObject({
    code: 'limit_exceeded',
    extensions: {
      errors: [
        { pointer: '', detail: `must be at most ${payloadBytesMax - 1} bytes as the payload of a job` },
      ],
    },
  });
  expect((await admitJob(jobs, plugin, { ...request, payloadBytesMax })).replayed).toBe(false);
});

describe('a staged payload', () => {
  const discarded: string[] = [];
  const discard = (name: string) => () => {
    discarded.push(name);
    return Promise.resolve();
  };

  test('is what the run has, with its tags, and a repeated request is not staged', async () => {
    const { jobs } = stage();
    const tags = { place: 'elsewhere' };
    const first = await admitJob(jobs, plugin, {
      ...request,
      tags: { of: 'the caller' },
      stage: () => Promise.resolve({ ...staged(discard('first')), tags }),
    });
    expect(first.run).toMatchObject({ tags: { ...tags, of: 'the caller' } });
    const again = await admitJob(jobs, plugin, { ...request, tags: { of: 'the caller' }, stage: broken });
    expect([again.run.id, again.replayed, discarded]).toEqual([first.run.id, true, []]);
  });

  test('without room is refused', async () => {
    const { jobs } = stage();
    const why = { detail: '9 of 10 bytes', limit: 10, used: 9, setting: 'S' };
    const full = { ...request, stage: () => Promise.resolve(why) };
    await expect(admitJob(jobs, plugin, full)).rejects.toMatchObject({
      code: 'queue_full',
      message: '9 of 10 bytes',
      extensions: { limit: 10, used: 9, setting: 'S' },
    });
  });
});
