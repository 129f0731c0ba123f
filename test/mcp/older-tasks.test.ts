import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { definitionFaults } from '../../functions/mcp/definitions.ts';
import { hostFaults } from './host-rules.ts';
import { olderFaults } from './older-faults.ts';
import { OLDER, olderAsk, olderSend, olderTools } from './older-support.ts';
import {
  BATCH,
  CANCEL,
  callOlder,
  GET,
  RUN,
  scope,
  taskIdOf,
  Waits,
  waitingRun,
  waitSeconds,
} from './plain-support.ts';
import { createCollection, IDENTITY, type McpService, namesOf, startMcpService } from './service-stage.ts';
import { messagesOf } from './support.ts';

/** Durable work for clients of older revisions, from two instances over one database. */

const NEWER = '2025-11-25';
const waits = new Waits();
let one: McpService;
let other: McpService;

beforeAll(async () => {
  one = await startMcpService({ world: waits.world, settings: workerSettings });
  other = await startMcpService({ folder: one.folder, world: waits.world });
  await one.start();
  await createCollection(one, 'writer', 'articles');
});

afterAll(async () => {
  await other.close();
  await one.close();
});

const as = (principal: string) => ({ [IDENTITY]: principal });
const record = (id: string) => ({ id, partitionKey: 'p', type: 'article', metadata: {}, content: {} });
const batch = (...ids: readonly string[]) => ({ collection: 'articles', records: ids.map(record) });

/** A run that goes on after the wait, with the id of its task. */
async function leftRun(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return taskIdOf(await callOlder(one, NEWER, ['writer', RUN, waitingRun({ waitSeconds: 0, ...more })]));
}

/** The id of the run behind a task: the second word of the first part of its id. */
const runIdOf = (taskId: string) =>
  Buffer.from(taskId.split('.')[0] ?? '', 'base64url')
    .toString()
    .split(' ')[1];

const stateOf = async (taskId: string, principal = 'writer') =>
  (await callOlder(other, NEWER, [principal, GET, { taskId, waitSeconds: 0 }])).values['task'];

/** A worker outside, which reports how far it is. */
const WORKER = { workerId: 'worker-1' };
const grant = 'Server:ExecutionAccess:IdentityPolicies:7';
const workerSettings = {
  [`${grant}:Principal`]: 'worker',
  [`${grant}:ProductId`]: scope.productId,
  [`${grant}:WorkerId`]: WORKER.workerId,
  [`${grant}:AllowedOperations:0`]: 'worker',
};

const asWorker = (path: string, body: object) =>
  one.call({
    method: 'POST',
    path: `/execution/workers/leases${path}`,
    headers: as('worker'),
    body: { ...WORKER, ...body },
  });

describe.each(OLDER)('a client of %s', (revision) => {
  const isEarly = revision === '2025-03-26';

  test('sees every tool, and the two that go on with a task', async () => {
    const tools = await olderTools(one.chain, revision, as('writer'));
    const newest = await namesOf(one, 'writer');
    expect(newest).toHaveLength(29);
    expect(tools.map(({ name }) => name)).toEqual([...newest, GET, CANCEL].sort());
    expect(definitionFaults(tools as never)).toEqual([]);
    expect(tools.flatMap((each) => hostFaults(each as never))).toEqual([]);
    // No tool speaks of an answer that these clients do not get.
    for (const { name, description } of tools)
      if (name.includes('_start_')) expect(description).not.toMatch(/(?:as|is) a task/);
    const listed = await olderSend(one.chain, revision, 'tools/list', {}, as('writer'));
    expect(olderFaults(listed, 'tools/list', revision)).toEqual([]);
  });

  test('gets the result of work that ends within the wait', async () => {
    const id = `done-${revision}`;
    const answer = await callOlder(one, revision, ['writer', BATCH, batch(id)]);
    expect(olderFaults(answer.response, 'tools/call', revision)).toEqual([]);
    expect(answer.result['isError']).toBe(false);
    expect(JSON.parse(answer.text)).toMatchObject({ status: 'succeeded', succeeded: 1 });
    await expectSchema(BATCH, answer.values);
    const path = `/collections/articles/records/p/${id}`;
    expect((await one.call({ method: 'GET', path, headers: as('writer') })).status).toBe(200);
  });

  test('gets the id of longer work, waits on with it, and cancels it', async () => {
    const called = callOlder(one, revision, ['writer', RUN, waitingRun()]);
    await waits.reach(1);
    waits.end();
    const left = await called;
    expect(olderFaults(left.response, 'tools/call', revision)).toEqual([]);
    expect(left.result['isError']).toBeUndefined();
    const taskId = taskIdOf(left);
    expect(JSON.parse(left.text)).toEqual({ task: { taskId, runId: runIdOf(taskId), status: 'working' } });
    expect(left.values).toEqual(isEarly ? {} : JSON.parse(left.text));
    await expectSchema(RUN, left.values);
    const [, words] = left.result['content'] as readonly { readonly text: string }[];
    for (const part of [GET, CANCEL, JSON.stringify({ taskId })]) expect(words?.text).toContain(part);
    // The wait at one instance ends with the cancellation at the same one.
    const waiting = callOlder(one, revision, ['writer', GET, { taskId, waitSeconds }]);
    await waits.reach(1);
    const cancelled = await callOlder(one, revision, ['writer', CANCEL, { taskId }]);
    expect(olderFaults(cancelled.response, 'tools/call', revision)).toEqual([]);
    expect(JSON.parse(cancelled.text)).toEqual({
      task: { taskId, runId: runIdOf(taskId), status: 'cancelled' },
    });
    expect(cancelled.result['isError']).toBeUndefined();
    const ended = await waiting;
    expect(olderFaults(ended.response, 'tools/call', revision)).toEqual([]);
    expect(JSON.parse(ended.text)).toEqual({ task: { taskId, runId: runIdOf(taskId), status: 'cancelled' } });
    expect(ended.result['isError']).toBe(true);
    await expectSchema(GET, ended.values);
  });
});

/** The values fit the schema under which the tool is listed. */
async function expectSchema(name: string, values: object): Promise<void> {
  const tools = await olderTools(one.chain, NEWER, as('writer'));
  const schema = tools.find((tool) => tool.name === name)?.['outputSchema'] ?? false;
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  expect(validate(values), JSON.stringify(validate.errors)).toBe(true);
}

test('the tool that reads a task gives the result of one that has ended, and cancels nothing then', async () => {
  const given = { ...batch('kept'), idempotencyKey: 'kept' };
  const { values } = await callOlder(one, NEWER, ['writer', BATCH, given]);
  const started = await one.ask('writer', 'tools/call', { name: BATCH, arguments: given });
  const taskId = String(started.result?.['taskId']);
  const read = await callOlder(other, NEWER, ['writer', GET, { taskId }]);
  expect([read.values, read.result['isError']]).toEqual([values, false]);
  const cancelled = await callOlder(other, NEWER, ['writer', CANCEL, { taskId }]);
  expect(cancelled.values).toEqual({ task: { taskId, status: 'completed' } });
  expect((await callOlder(one, NEWER, ['writer', GET, { taskId }])).values).toEqual(values);
});

test('work that fails is an error of the tool, and so is a batch that wrote nothing', async () => {
  const missing = { collection: 'missing', records: [record('x')] };
  const failed = await callOlder(one, NEWER, ['writer', BATCH, missing]);
  expect([failed.result['isError'], failed.values['status']]).toEqual([true, 'failed']);
  const given = { ...batch('unwritten'), advanced: { preconditions: [{ ifMatch: 'none' }] } };
  const empty = await callOlder(one, NEWER, ['writer', BATCH, given]);
  expect([empty.result['isError'], empty.values['status']]).toEqual([true, 'succeeded']);
  expect(JSON.stringify(empty.result['content'])).toContain(
    'Nothing was written: of the items, 0 succeeded and 1 failed',
  );
});

test('long results are lines for a model, and JSON in the revision without values', async () => {
  const ids = Array.from({ length: 40 }, (_, at) => `long-${at}`);
  const [lines, json] = [
    await callOlder(one, '2025-06-18', ['writer', BATCH, batch(...ids)]),
    await callOlder(one, '2025-03-26', ['writer', BATCH, batch(...ids)]),
  ];
  expect(lines.text).toContain('\nbatchResult.items: 40 items\n1. {');
  expect(JSON.stringify(lines.values)).toContain('"id":"long-39"');
  expect(json.text.length).toBeGreaterThan(4_000);
  expect(JSON.parse(json.text)).toMatchObject({ batchResult: { items: ids.map((id) => ({ id })) } });
  // The same holds for the tools that read.
  const query = { collection: 'articles', filter: { path: '/type', op: 'eq', value: 'article' }, limit: 40 };
  const read = (revision: '2025-06-18' | '2025-03-26') =>
    callOlder(one, revision, ['writer', 'svc_records_query_v1', query]);
  expect((await read('2025-06-18')).text).toMatch(/^1\. /);
  const { items } = JSON.parse((await read('2025-03-26')).text) as { items: unknown[] };
  expect(items.length).toBeGreaterThan(10);
});

test('a run has two ids, and each tool names the other one where it is given the wrong one', async () => {
  const left = await callOlder(one, NEWER, ['writer', RUN, waitingRun({ waitSeconds: 0 })]);
  const { taskId, runId } = left.values['task'] as Readonly<Record<string, string>>;
  expect(JSON.stringify(left.result['content'])).toContain(`Tools for runs take its runId, which is`);
  const READ = 'svc_execution_get_run_v1';
  const read = await callOlder(one, NEWER, ['writer', READ, { runId }]);
  expect(read.values).toMatchObject({ id: runId, status: 'queued' });
  const words = async (tool: string, given: Readonly<Record<string, unknown>>) =>
    (await callOlder(one, NEWER, ['writer', tool, given])).text;
  expect(await words(READ, { runId: taskId })).toContain(
    'There is no such run. The runId is a taskId: ' + GET,
  );
  expect(await words(READ, { runId: 'other' })).toBe('There is no such run (not_found)');
  expect(await words(GET, { taskId: runId })).toContain('A runId is no taskId: ' + READ);
  const newest = await one.ask('writer', 'tasks/get', { taskId });
  expect(newest.result?.['_meta']).toMatchObject({ 'svc.runtime/runId': runId });
});

describe('rights', () => {
  test('O09: a task of another caller is answered as an unknown one', async () => {
    const taskId = await leftRun();
    const unknown = 'Z2V0RXhlY3V0aW9uUnVuIDAwMQ.xyz';
    for (const tool of [GET, CANCEL]) {
      const answers = [taskId, unknown].map(async (id) => {
        const { result } = await callOlder(one, NEWER, ['neighbour', tool, { taskId: id }]);
        return [result['isError'], result['content']];
      });
      const [foreign, none] = await Promise.all(answers);
      expect(foreign).toEqual(none);
      expect(foreign).toEqual([
        true,
        [{ type: 'text', text: expect.stringMatching(/^There is no such task\. .* \(not_found\)$/) }],
      ]);
    }
    expect(await stateOf(taskId)).toMatchObject({ status: 'working' });
  });

  test('a caller without the right to cancel is refused, and may still read', async () => {
    const taskId = await leftRun();
    const reading = await startMcpService({
      folder: one.folder,
      settings: { 'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:2': 'start_run' },
    });
    const { result } = await callOlder(reading, NEWER, ['writer', CANCEL, { taskId }]);
    expect(JSON.stringify(result)).toContain('may not cancel this task. (permission_denied)');
    expect(await stateOf(taskId)).toMatchObject({ status: 'working' });
    await reading.close();
  });

  test('a caller that may start a run but not read it does not wait', async () => {
    const blind = await startMcpService({
      folder: one.folder,
      world: waits.world,
      settings: {
        'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:1': 'start_run',
        'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:2': 'start_run',
      },
    });
    const answer = await callOlder(blind, NEWER, ['writer', RUN, waitingRun()]);
    expect([waits.count, taskIdOf(answer)]).toEqual([0, expect.any(String)]);
    await blind.close();
  });

  test('a caller without a tool for durable work sees no tool that goes on', async () => {
    const names = (await olderTools(one.chain, NEWER, as('runner'))).map(({ name }) => name);
    expect(names).not.toContain(BATCH);
    expect(names.filter((name) => name.startsWith('svc_tasks_'))).toEqual([]);
    // A call by the name is answered as that of any caller without the task.
    const { text } = await callOlder(one, NEWER, ['runner', GET, { taskId: 'x' }]);
    expect(text).toContain('There is no such task.');
  });
});

describe('waiting', () => {
  test('a read that is refused for its rate does not look like a refused start', async () => {
    const settings = { 'Server:ExecutionRateLimit:PermitLimit': '1' };
    const slow = await startMcpService({ settings });
    const answer = await callOlder(slow, NEWER, ['writer', RUN, waitingRun()]);
    expect([taskIdOf(answer), answer.result['isError']]).toEqual([expect.any(String), undefined]);
    const refused = await callOlder(slow, NEWER, ['writer', GET, { taskId: taskIdOf(answer) }]);
    expect(refused.text).toContain('(rate_limited)');
    await slow.close();
  });

  test('all places of a tenant leave those of its neighbour, and a call without a place answers the id at once', async () => {
    const taskId = await leftRun();
    const places = limits.executionRunWaitingCallsPerTenantMax;
    const crowd = Array.from({ length: places }, () =>
      callOlder(one, NEWER, ['writer', GET, { taskId, waitSeconds }]),
    );
    await waits.reach(places);
    const further = await callOlder(one, NEWER, ['writer', RUN, waitingRun()]);
    expect(taskIdOf(further)).not.toBe(taskId);
    expect(waits.count).toBe(places);
    const of = { productId: 'papers', tenantId: 'other' };
    const neighbour = callOlder(one, NEWER, ['neighbour', RUN, waitingRun({}, of)]);
    await waits.reach(places + 1);
    waits.end();
    expect(taskIdOf(await neighbour)).not.toBe('');
    const states = (await Promise.all(crowd)).map(({ values }) => values['task']);
    expect(states).toEqual(states.map(() => ({ taskId, runId: runIdOf(taskId), status: 'working' })));
    expect(waits.count).toBe(0);
  });

  test('a call that is cut off leaves its run and its place, and the same key finds it again', async () => {
    const given = waitingRun({ idempotencyKey: 'cut-off' });
    const client = new AbortController();
    const { signal } = client;
    const cut = callOlder(one, NEWER, ['writer', RUN, given], { signal });
    await waits.reach(1);
    client.abort();
    const taskId = taskIdOf(await cut);
    expect(waits.count).toBe(0);
    const again = callOlder(other, NEWER, ['writer', RUN, given]);
    await waits.reach(1);
    waits.end();
    expect(taskIdOf(await again)).toBe(taskId);
    const body = { handlerId: 'invoice.render', scope, idempotencyKey: 'cut-off' };
    const run = await one.call({ method: 'POST', path: '/execution/runs', headers: as('writer'), body });
    const [place = ''] = taskId.split('.');
    const { id } = run.json<{ id: string }>();
    expect(Buffer.from(place, 'base64url').toString()).toBe(`getExecutionRun ${id}`);
  });

  test('a client that asks for progress gets the share that the work reports, and then its result', async () => {
    const given = waitingRun({ idempotencyKey: 'with-progress' });
    const taskId = await leftRun({ idempotencyKey: 'with-progress' });
    const runId = Buffer.from(taskId.split('.')[0] ?? '', 'base64url')
      .toString()
      .split(' ')[1];
    const leased = await asWorker('', { handlerIds: ['invoice.render'], runId, ttlSeconds: 600 });
    const lease = leased.json<{ leaseKey: string; leaseToken: string }>();
    const held = { leaseKey: lease.leaseKey, leaseToken: lease.leaseToken };
    const reported = await asWorker('/reports', { ...held, update: { progress: 0.25 } });
    expect(reported.status, reported.body).toBeLessThan(300);
    const called = callOlder(one, NEWER, ['writer', RUN, given], { _meta: { progressToken: 'p' } });
    await waits.reach(1);
    const completed = await asWorker('/complete', { ...held, result: { result: { pages: 3 } } });
    expect(completed.status, completed.body).toBe(200);
    const { response, result, values } = await called;
    expect(olderFaults(response, 'tools/call', NEWER)).toEqual([]);
    expect([result['isError'], values['result']]).toEqual([false, { pages: 3 }]);
    const [first] = messagesOf(response);
    expect(first?.['params']).toEqual({ progressToken: 'p', progress: 0.25, total: 1 });
  });

  test('a server that begins to stop answers the id at once', async () => {
    const draining = AbortSignal.abort();
    const answer = await callOlder(one, NEWER, ['writer', RUN, waitingRun()], { draining });
    expect(await stateOf(taskIdOf(answer))).toMatchObject({ status: 'working' });
  });

  test('a shorter wait is an argument of the tool that reads a task', async () => {
    const taskId = await leftRun();
    const read = await callOlder(one, NEWER, ['writer', GET, { taskId, waitSeconds: 0 }]);
    expect(read.values).toEqual({ task: { taskId, runId: runIdOf(taskId), status: 'working' } });
    const wrong = await callOlder(one, NEWER, ['writer', GET, { waitSeconds: 'long' }]);
    expect(wrong.result['isError']).toBe(true);
    expect(wrong.text).toContain('must have taskId');
  });
});

test('2026-07-28 has no tool of these', async () => {
  for (const name of [GET, CANCEL]) {
    const { error } = await one.ask('writer', 'tools/call', { name, arguments: { taskId: 'x' } });
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params: unknown tool' });
  }
});

test('Mcp:PlainTasks of false shows older revisions no tool for durable work', async () => {
  const off = await startMcpService({ settings: { 'Mcp:PlainTasks': 'false' } });
  const tools = await olderTools(off.chain, NEWER, as('writer'));
  expect(tools).toHaveLength(17);
  const params = { name: BATCH, arguments: batch('off') };
  const { error } = await olderAsk(off.chain, NEWER, 'tools/call', params, as('writer'));
  expect(error).toMatchObject({ code: -32602, message: 'Invalid params: unknown tool' });
  expect(await namesOf(off, 'writer')).toHaveLength(29);
  await off.close();
});
