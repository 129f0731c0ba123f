import { describe, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { executionInstance, ownScope } from '../../test/support/execution.ts';
import type { LogEvent } from '../kernel/log.ts';
import { admitJob, findJob, isJobKeyUsed, type JobRequest } from './admit-job.ts';
import type { JobPlugin } from './job-plugin.ts';

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
