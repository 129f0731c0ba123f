import { describe, expect, test, vi } from 'vitest';
import { startTasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { cloudSettings, hosted } from '../../test/support/hosted.ts';
import { machine } from './machine.ts';

const plugin = `export default { pluginId: 'p', name: 'p', version: '1.0.0', handlers: [
  { handlerId: 'p.inner', run: () => 1 } ] };`;

const start = (handlerId: string, more: object = {}) => ({
  method: 'POST',
  path: '/execution/runs',
  body: { handlerId, ...more },
});

describe('a handler without a configured worker', () => {
  const { 'ExecutionRuntime:Google:WorkerUrl': workerUrl = '', ...withoutWorker } = cloudSettings;

  test('has its runs rejected, and the key with them', async () => {
    const own: Record<string, string> = { ...withoutWorker };
    const settings = {
      ...own,
      'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'theirs',
      'ExecutionRuntime:ExternalHandlers:1:HandlerId': 'routed',
      'ExecutionRuntime:Google:WorkerRoutes:0:HandlerId': 'routed',
      'ExecutionRuntime:Google:WorkerRoutes:0:WorkerUrl': workerUrl,
    };
    const api = await hosted({ target: 'execution', settings, plugin, base: {} });
    for (const handlerId of ['p.inner', 'theirs']) {
      const answer = await api.call(start(handlerId, { idempotencyKey: handlerId }));
      expect(answer.status).toBe(503);
      const problem = answer.json<{ code: string; admission: { resourceId: string } }>();
      expect(problem).toMatchObject({
        code: 'handler_not_routed',
        admission: { status: 'rejected', failureClass: 'platform' },
      });
      const run = await api.call({ method: 'GET', path: `/execution/runs/${problem.admission.resourceId}` });
      expect(run.json()).toMatchObject({ status: 'rejected', failureClass: 'platform' });
    }
    await api.close();
  });
});

test('a delivery to the hosted worker ends the expired lease of an external worker', async () => {
  const tasks = await startTasksEmulator({
    queues: [{ name: 'projects/demo-svc/locations/local/queues/svc-runs' }],
    faults: { lose: { probability: 1, seed: 1 } },
  });
  const clock = { now: Date.UTC(2026, 0, 1) };
  const world = { ...machine, clock: { now: () => clock.now } };
  const settings = {
    'ExecutionRuntime:Google:EmulatorHost': `${tasks.host}:${tasks.port}`,
    'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'theirs',
  };
  const api = await hosted({ target: 'execution', settings, plugin, world });
  const worker = await hosted({ target: 'worker', settings, plugin, world, folder: api.folder });
  const { id: runId } = (await api.call(start('theirs'))).json<{ id: string }>();
  const wish = { workerId: 'w', handlerIds: ['theirs'], ttlSeconds: 60 };
  expect((await api.call({ method: 'POST', path: '/execution/workers/leases', body: wish })).status).toBe(
    200,
  );
  const headers = { 'X-Svc-Execution-Dispatch': '1' };
  const delivery = { method: 'POST', path: '/tasks/execution', headers, body: { runId } };
  const statusOf = async () =>
    (await api.call({ method: 'GET', path: `/execution/runs/${runId}` })).json<{ status: string }>().status;
  expect((await worker.call(delivery)).status).toBe(204);
  expect(await statusOf()).toBe('running');
  clock.now += 60_000;
  expect(await statusOf()).toBe('running');
  expect((await worker.call(delivery)).status).toBe(204);
  expect(await statusOf()).toBe('queued');
  await worker.close();
  await api.close();
  await tasks.stop();
});

/** Ends a test that hangs. */
const PATIENCE_MS = 600_000;

describe('the queue repeats a delivery that was not executed', () => {
  const held = `
const gates = new Map();
globalThis.svcTestGates = gates;
export default { pluginId: 'p', name: 'p', version: '1.0.0', handlers: [{ handlerId: 'p.held', async run(run) {
  await new Promise((resolve, reject) => { gates.set(run.runId, { resolve }); run.signal.addEventListener('abort', () => reject(run.signal.reason)); });
} }] };`;
  interface Gates {
    readonly svcTestGates: Map<string, { resolve(): void }>;
  }
  const gateOf = async (runId: string) =>
    vi.waitFor(() => {
      const gate = (globalThis as unknown as Gates).svcTestGates.get(runId);
      if (gate === undefined) throw new Error('the handler has not begun');
      return gate;
    }, PATIENCE_MS);

  async function stage() {
    const tasks = await startTasksEmulator({
      queues: [{ name: 'projects/demo-svc/locations/local/queues/svc-runs' }],
      faults: { lose: { probability: 1, seed: 1 } },
    });
    const settings = {
      'ExecutionRuntime:Google:EmulatorHost': `${tasks.host}:${tasks.port}`,
      'ExecutionRuntime:MaxConcurrentRuns': '1',
      'Server:DrainSeconds': '0',
    };
    const api = await hosted({ target: 'execution', settings, plugin: held });
    const worker = await hosted({ target: 'worker', settings, plugin: held, folder: api.folder });
    const started = async () => (await api.call(start('p.held'))).json<{ id: string }>().id;
    const deliver = (runId: string) => {
      const headers = { 'X-Svc-Execution-Dispatch': '1' };
      return worker.call({ method: 'POST', path: '/tasks/execution', headers, body: { runId } });
    };
    return { tasks, api, worker, started, deliver };
  }

  test('where the worker has no room', async () => {
    const { tasks, api, worker, started, deliver } = await stage();
    const [first, second] = [await started(), await started()];
    const under = deliver(first);
    const gate = await gateOf(first);
    const busy = await deliver(second);
    expect([busy.status, busy.headers['retry-after']]).toEqual([503, '1']);
    gate.resolve();
    expect((await under).status).toBe(204);
    const again = deliver(second);
    (await gateOf(second)).resolve();
    expect((await again).status).toBe(204);
    for (const each of [worker, api]) await each.close();
    await tasks.stop();
  });

  test('where the worker stops before the attempt is over', async () => {
    const { tasks, api, worker, started, deliver } = await stage();
    const runId = await started();
    const under = deliver(runId);
    await gateOf(runId);
    await worker.close();
    const left = await under;
    expect([left.status, left.headers['retry-after']]).toEqual([503, '1']);
    await api.close();
    await tasks.stop();
  });
});

describe('in Development', () => {
  const delivery = (host: string) => ({
    method: 'POST',
    path: '/tasks/execution',
    headers: { host, 'X-Svc-Execution-Dispatch': '1', 'X-Svc-Development-Identity': 'somebody' },
    body: { runId: '1' },
  });
  const keys = { 'Server:RequireApiKey': 'true', 'Server:ApiKeys:0': 'a-key-of-some-length' };
  const believed = {
    'HostedWorker:TaskAuthentication:AuthenticationMode': 'development-header',
    'HostedWorker:TaskAuthentication:AllowedPrincipals:0': 'somebody',
  };
  test.each([
    ['nothing said', {}],
    ['an API key that callers need', keys],
    ['a header that is believed', { ...keys, ...believed }],
  ])('the worker is open to this machine alone: %s', async (_name, settings) => {
    const worker = await hosted({ target: 'worker', settings, plugin });
    expect((await worker.call(delivery('127.0.0.1'))).status).toBe(204);
    expect((await worker.call(delivery('worker.example.com'))).status).toBe(403);
    await worker.close();
  });
});

describe('the functions beside the groups', () => {
  test('maintain the runtime without a request body, also twice at once', async () => {
    const tasks = await startTasksEmulator({
      queues: [{ name: 'projects/demo-svc/locations/local/queues/svc-runs' }],
      faults: { lose: { probability: 1, seed: 1 } },
    });
    const settings = {
      'ExecutionRuntime:Google:EmulatorHost': `${tasks.host}:${tasks.port}`,
      'ExecutionRuntime:MaxRetainedTerminalRuns': '1',
      'ExecutionRuntime:MinRetainedHours': '0',
    };
    const api = await hosted({ target: 'execution', settings, plugin });
    const shared = { settings, plugin, folder: api.folder };
    const [worker, reconcile, prune] = await Promise.all([
      hosted({ target: 'worker', ...shared }),
      hosted({ target: 'reconcile', ...shared }),
      hosted({ target: 'prune', ...shared }),
    ]);
    for (let count = 0; count < 3; count += 1) {
      const { id: runId } = (await api.call(start('p.inner'))).json<{ id: string }>();
      const headers = { 'X-Svc-Execution-Dispatch': '1' };
      const delivery = { method: 'POST', path: '/tasks/execution', headers, body: { runId } };
      expect((await worker.call(delivery)).status).toBe(204);
    }
    const post = { method: 'POST', path: '/' };
    const answers = await Promise.all([reconcile.call(post), reconcile.call(post)]);
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({
        function: 'reconcile',
        settled: 0,
        redriven: 0,
        failed: 0,
        more: false,
      });
    }
    const pruned = await Promise.all([prune.call(post), prune.call(post)]);
    const counts = pruned.map((answer) => answer.json<{ runs: number; account: { faulty: number } }>());
    expect(counts.reduce((sum, { runs }) => sum + runs, 0)).toBe(2);
    for (const { account } of counts) expect(account.faulty).toBe(0);
    // Scheduled maintenance takes no body and accepts POST only.
    expect((await prune.call({ ...post, body: { retainTerminalRuns: 0 } })).status).toBeGreaterThanOrEqual(
      400,
    );
    expect((await prune.call({ ...post, method: 'GET' })).status).toBe(405);
    const health = await worker.call({ method: 'GET', path: '/health' });
    expect(health.json()).toMatchObject({ status: 'ok', handlers: expect.arrayContaining(['p.inner']) });
    // Anonymous callers learn neither the host nor the process id.
    expect(health.json<{ workerId: string }>().workerId).toMatch(/^process-[0-9a-f]{16}$/);
    for (const each of [worker, reconcile, prune, api]) await each.close();
    await tasks.stop();
  });
});
