import { describe, expect, test } from 'vitest';
import { ask, mcpStage, refusalOf, TASKS, withCapabilities, without } from './support.ts';

const able = { _meta: withCapabilities(TASKS) };
const alice = { authorization: 'Bearer alice' };
const mallory = { authorization: 'Bearer mallory' };

async function started(stage: ReturnType<typeof mcpStage>, name: string, given = {}): Promise<string> {
  const { result } = await ask(stage.chain, 'tools/call', { ...able, name, arguments: given }, alice);
  return String(result?.['taskId']);
}

describe('a task', () => {
  test('is announced flat, and found at once by any instance', async () => {
    const stage = mcpStage();
    const params = { ...able, name: 'slow_compute', arguments: { seconds: 2, label: 'x' } };
    const { result } = await ask(stage.chain, 'tools/call', params, alice);
    const { _meta, ...members } = result ?? {};
    expect(members).toEqual({
      resultType: 'task',
      taskId: 'task-1',
      status: 'working',
      statusMessage: 'computing',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-01T00:00:00.000Z',
      ttlMs: 3_600_000,
      pollIntervalMs: 100,
    });
    const found = await ask(stage.another(), 'tasks/get', { ...able, taskId: 'task-1' }, alice);
    expect(found.result).toMatchObject({ resultType: 'complete', taskId: 'task-1', status: 'working' });
  });

  test('ends with the whole result, and keeps it', async () => {
    const stage = mcpStage();
    const taskId = await started(stage, 'slow_compute', { seconds: 2, label: 'x' });
    stage.world.advance(2000);
    await ask(stage.chain, 'tasks/cancel', { ...able, taskId }, alice);
    const { result } = await ask(stage.chain, 'tasks/get', { ...able, taskId }, alice);
    expect(result).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', content: [{ type: 'text', text: 'computed "x"' }] },
    });
    expect(result?.['result']).not.toHaveProperty('_meta');
  });

  test('of a tool that reports trouble is completed, and of a broken call failed', async () => {
    const stage = mcpStage();
    const [job, broken] = [await started(stage, 'failing_job'), await started(stage, 'protocol_error_job')];
    stage.world.advance(1000);
    const failed = await ask(stage.chain, 'tasks/get', { ...able, taskId: job }, alice);
    expect(failed.result).toMatchObject({ status: 'completed', result: { isError: true } });
    const fault = await ask(stage.chain, 'tasks/get', { ...able, taskId: broken }, alice);
    expect(fault.result).toMatchObject({ status: 'failed', error: { code: -32603 } });
    expect(fault.result).not.toHaveProperty('result');
  });

  test('asks until every question is answered, on whichever instance', async () => {
    const stage = mcpStage();
    const taskId = await started(stage, 'multi_input');
    const open = async () => {
      const { result } = await ask(stage.another(), 'tasks/get', { ...able, taskId }, alice);
      return [result?.['status'], Object.keys((result?.['inputRequests'] as object | undefined) ?? {})];
    };
    const answer = async (inputResponses: object) =>
      (await ask(stage.another(), 'tasks/update', { ...able, taskId, inputResponses }, alice)).result;
    expect(await open()).toEqual(['input_required', ['first', 'second']]);
    const { _meta, ...acknowledged } = (await answer({ first: { action: 'accept' }, other: {} })) ?? {};
    expect(acknowledged).toEqual({ resultType: 'complete' });
    expect(await open()).toEqual(['input_required', ['second']]);
    await answer({ second: { action: 'decline' } });
    expect(await open()).toEqual(['completed', []]);
  });

  test('that is cancelled stays so', async () => {
    const stage = mcpStage();
    const taskId = await started(stage, 'slow_compute', { seconds: 2 });
    for (let time = 0; time < 2; time += 1) {
      const { result } = await ask(stage.chain, 'tasks/cancel', { ...able, taskId }, alice);
      expect(Object.keys(result ?? {}).sort()).toEqual(['_meta', 'resultType']);
      stage.world.advance(5000);
    }
    const { result } = await ask(stage.chain, 'tasks/get', { ...able, taskId }, alice);
    expect(result?.['status']).toBe('cancelled');
  });
});

describe('who may see a task', () => {
  const methods = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;

  test.each(methods)('O08: %s is refused without the capability, before the id is read', async (method) => {
    const stage = mcpStage();
    const taskId = await started(stage, 'slow_compute', { seconds: 2 });
    for (const params of [{ taskId }, { taskId: 'none' }, {}]) {
      const { status, error } = await ask(stage.chain, method, params, alice);
      expect([status, error?.code, error?.data]).toEqual([400, -32021, { requiredCapabilities: TASKS }]);
      expect(error?.message).toContain('Missing required client capability: io.modelcontextprotocol/tasks; ');
    }
  });

  test('O08: a tool that only runs as a task is refused, one that may answer at once answers', async () => {
    const { chain } = mcpStage();
    const { status, error } = await ask(chain, 'tools/call', { name: 'failing_job' });
    expect([status, error?.code, error?.data]).toEqual([400, -32021, { requiredCapabilities: TASKS }]);
    const { result } = await ask(chain, 'tools/call', { name: 'slow_compute' });
    expect(result).toMatchObject({ resultType: 'complete' });
  });

  test('O08: no task is shown to a client without the capability, also when the tool does not declare the need', async () => {
    const stage = mcpStage({}, (catalog) => ({
      ...catalog,
      tools: async (caller) => ((await catalog.tools?.(caller)) ?? []).map((tool) => without(tool, 'needs')),
    }));
    const { status, error } = await ask(stage.chain, 'tools/call', { name: 'failing_job' });
    expect([status, error?.code]).toEqual([400, -32021]);
  });

  test.each(methods)('O09: %s answers another caller as if there were no task', async (method) => {
    const stage = mcpStage();
    const taskId = await started(stage, 'slow_compute', { seconds: 2 });
    const params = { ...able, inputResponses: {} };
    const foreign = await ask(stage.chain, method, { ...params, taskId }, mallory);
    const unknown = await ask(stage.chain, method, { ...params, taskId: 'none' }, mallory);
    expect(foreign).toEqual(unknown);
    expect([foreign.status, foreign.error?.code]).toEqual([200, -32602]);
    const own = await ask(stage.chain, 'tasks/get', { ...params, taskId }, alice);
    expect(own.result?.['status']).toBe('working');
  });

  test.each(methods)('%s without an id has invalid parameters', async (method) => {
    expect(await refusalOf(mcpStage().chain, method, able)).toEqual([200, -32602]);
  });

  test('answers that are none are refused', async () => {
    const stage = mcpStage();
    const taskId = await started(stage, 'multi_input');
    for (const inputResponses of [undefined, null, [], { first: 1 }])
      expect(
        await refusalOf(stage.chain, 'tasks/update', { ...able, taskId, inputResponses }, alice),
      ).toEqual([200, -32602]);
  });
});
