import { afterAll, beforeAll, expect, test } from 'vitest';
import { olderTools } from './older-support.ts';
import {
  CANCEL,
  type Called,
  callOlder,
  GET,
  RUN,
  scope,
  taskIdOf,
  Waits,
  waitingRun,
  waitSeconds,
} from './plain-support.ts';
import { IDENTITY, type McpService, startMcpService, taskOperations } from './service-stage.ts';

/** The two tools that go on with running work: for whom they answer, and what they say of its state. */

const NEWER = '2025-11-25';
const WORKER = { workerId: 'worker-1' };
const grant = 'Server:ExecutionAccess:IdentityPolicies:7';
const waits = new Waits();
let one: McpService;

beforeAll(async () => {
  const settings = {
    [`${grant}:Principal`]: 'worker',
    [`${grant}:ProductId`]: scope.productId,
    [`${grant}:WorkerId`]: WORKER.workerId,
    [`${grant}:AllowedOperations:0`]: 'worker',
  };
  one = await startMcpService({ world: waits.world, settings });
  await one.start();
});

afterAll(() => one.close());

const as = (principal: string) => ({ [IDENTITY]: principal });
const asWorker = (path: string, body: object) =>
  one.call({
    method: 'POST',
    path: `/execution/workers/leases${path}`,
    headers: as('worker'),
    body: { ...WORKER, ...body },
  });

const call = (name: string, given: Readonly<Record<string, unknown>>, service = one) =>
  callOlder(service, NEWER, ['writer', name, given]);
const leftRun = async () => taskIdOf(await call(RUN, waitingRun({ waitSeconds: 0 })));
const read = (taskId: string, service = one) => call(GET, { taskId, waitSeconds: 0 }, service);

/** The second text of an answer, which says how to go on. */
function wordsOf({ result }: Called): string {
  const [, words] = result['content'] as readonly { readonly text: string }[];
  return words?.text ?? '';
}

test('running work outlasts the right to start it', async () => {
  const taskId = await leftRun();
  const settings = {
    'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:0': 'read_run',
    'Server:RecordAccess:IdentityPolicies:1:AllowedOperations:1': 'read',
    'Server:RecordAccess:IdentityPolicies:1:AllowedOperations:2': 'read',
    'Server:ProviderAccess:IdentityPolicies:0:AllowedOperations:1': 'read',
  };
  const without = await startMcpService({ folder: one.folder, settings });
  const names = (await olderTools(without.chain, NEWER, as('writer'))).map(({ name }) => name);
  expect(names.filter((name) => name.includes('_start_'))).toEqual([]);
  expect(names.filter((name) => name.startsWith('svc_tasks_'))).toEqual([CANCEL, GET]);
  expect((await read(taskId, without)).values).toMatchObject({ task: { taskId, status: 'working' } });
  const ended = await call(CANCEL, { taskId }, without);
  expect(ended.values).toMatchObject({ task: { taskId, status: 'cancelled' } });
  await without.close();
});

test('running work outlasts the tools that start work, whose list is then without the two', async () => {
  const taskId = await leftRun();
  const enabled = taskOperations.map((_, at) => [`Mcp:EnabledOperations:${at}`, 'listCollections'] as const);
  const none = await startMcpService({ folder: one.folder, settings: Object.fromEntries(enabled) });
  expect(await olderTools(none.chain, NEWER, as('writer'))).toHaveLength(17);
  expect((await read(taskId, none)).values).toMatchObject({ task: { taskId, status: 'working' } });
  const ended = await call(CANCEL, { taskId }, none);
  expect(ended.values).toMatchObject({ task: { taskId, status: 'cancelled' } });
  await none.close();
});

test('a cancellation of running work says that the worker ends it, until it has', async () => {
  const taskId = await leftRun();
  const [, runId] = Buffer.from(taskId.split('.')[0] ?? '', 'base64url')
    .toString()
    .split(' ');
  const answer = await asWorker('', { handlerIds: ['invoice.render'], runId, ttlSeconds: 600 });
  const { leaseKey, leaseToken } = answer.json<{ leaseKey: string; leaseToken: string }>();
  const statusMessage = 'A cancellation was requested.';
  for (const asked of [await call(CANCEL, { taskId }), await read(taskId)]) {
    expect(asked.values['task']).toMatchObject({ taskId, status: 'working', statusMessage });
    expect(wordsOf(asked)).toMatch(/^A cancellation was requested, and the worker ends the work\./);
    expect(wordsOf(asked)).not.toContain(CANCEL);
  }
  const newest = await one.ask('writer', 'tasks/get', { taskId });
  expect(newest.result).toMatchObject({ status: 'working', statusMessage });
  expect(newest.result).not.toHaveProperty('isBeingCancelled');
  const completed = await asWorker('/complete', { leaseKey, leaseToken, result: { status: 'cancelled' } });
  expect(completed.status, completed.body).toBe(200);
  expect((await read(taskId)).values).toMatchObject({ task: { status: 'cancelled' } });
});

test('work that is planned for later takes no place to wait, neither with its start nor later', async () => {
  const atNow = waits.world.clock.now();
  const scheduledAtUtc = new Date(atNow + 3_600_000).toISOString();
  const begun = await call(RUN, waitingRun({ scheduledAtUtc }));
  const taskId = taskIdOf(begun);
  const later = await call(GET, { taskId, waitSeconds });
  for (const answer of [begun, later]) {
    expect(answer.values).toMatchObject({ task: { status: 'working' } });
    expect(wordsOf(answer)).toContain(`The work begins at ${scheduledAtUtc.slice(0, 19)}`);
  }
  // A begin within the wait is waited for.
  const soon = new Date(waits.world.clock.now() + 10_000).toISOString();
  const waiting = call(RUN, waitingRun({ scheduledAtUtc: soon }));
  await waits.reach(1);
  waits.end();
  expect((await waiting).values).toMatchObject({ task: { status: 'working' } });
});

test.each([-1, -0.001, 20.001, 1e9])('a wait of %d seconds is refused with its bounds', async (seconds) => {
  const refused = await call(GET, { taskId: 'x', waitSeconds: seconds });
  expect(refused.result['isError']).toBe(true);
  expect(refused.text).toContain('/waitSeconds: must be from 0 to 20');
});

test.each([0, 20, null])('a wait of %j seconds is within them', async (seconds) => {
  const { text } = await call(GET, { taskId: 'x', waitSeconds: seconds });
  expect(text).toContain('There is no such task.');
});
