import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, type TestContext, test } from 'vitest';
import { functionsOf } from '../../emulator/local-functions.ts';
import { clientOf, target } from '../../emulator/tasks/stage.fixture.ts';
import { commit, halfSentCommit, Program, refusesConnections, root } from './program.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'svc-local-cloud-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ready = new RegExp(
  String.raw`^The local cloud is ready at (http://127\.0\.0\.1:(\d+)) \(${functionsOf({}).join(', ')}\)\nFirestore emulator at \S+:(\d+), Cloud Tasks emulator at \S+:(\d+), issuer of tokens at (\S+)\n.* jobs: (\S+)\n[\s\S]*Ctrl-C stops it$`,
  'm',
);
const queue = 'projects/demo-svc/locations/local/queues/svc-runs';

const plugin = join(folder, 'plugin.mjs');
writeFileSync(
  plugin,
  `export default { pluginId: 'local', name: 'Local', version: '1.0.0', handlers: [
    { handlerId: 'local.echo', run: ({ payload }) => payload },
    { handlerId: 'local.later', run: async (run) => {
      await run.waitForTimer('later', new Date(Date.parse(run.createdAt) + 500));
      return 'later';
    } },
  ] };`,
);

function start(env: Readonly<Record<string, string>> = {}, options: readonly string[] = []): Program {
  return new Program([join(root, 'emulator/main.ts'), ...options], {
    cwd: folder,
    env: { PORT: '0', ...env },
  });
}

/** Skips with the reason where there is no Firestore emulator. A run that must be complete does not skip. */
async function startOrSkip(
  { skip }: TestContext,
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  const program = start(env, options);
  try {
    const [, url = '', port, firestore, tasks, issuer = '', admin = ''] = await program.says(ready);
    const ports = [port, firestore, tasks, new URL(issuer).port, new URL(admin).port].map(Number);
    return { program, url, ports, admin, issuer, tasks: { host: '127.0.0.1', port: Number(tasks) } };
  } catch (error) {
    const [reason] = /no Firestore emulator found.*|needs Java.*/.exec(program.stderr) ?? [];
    if (reason !== undefined && process.env.CI === undefined) skip(reason);
    throw error;
  }
}

/** The processes that it started: a function each, and the database. */
async function childrenOf(program: Program, name = ''): Promise<number[]> {
  const { stdout } = await run('pgrep', ['-P', String(program.process.pid), '-f', name]);
  return stdout.trim().split('\n').map(Number);
}

/** Resolves when all of the processes have ended. */
async function gone(pids: readonly number[]): Promise<void> {
  for (;;) {
    const listed = run('ps', ['-o', 'stat=', '-p', pids.join()]).catch(() => ({ stdout: '' }));
    const living = (await listed).stdout
      .split('\n')
      .filter((state) => state !== '' && !state.startsWith('Z'));
    if (living.length === 0) return;
  }
}

const json = { 'content-type': 'application/json' };

async function tokenOf(issuer: string, email: string): Promise<string> {
  const body = JSON.stringify({ email, audience: 'svc-local' });
  const answer = await fetch(`${issuer}/token`, { method: 'POST', headers: json, body });
  return ((await answer.json()) as { id_token: string }).id_token;
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly result?: unknown;
}

/** The database of a cold function may take longer than a check waits, on a busy machine. */
async function isReady(url: string): Promise<void> {
  for (;;) {
    const { ready: isTrue } = (await (await fetch(`${url}/readiness`)).json()) as { ready: boolean };
    if (isTrue) return;
  }
}

/** Starts a run, and resolves with it when it is over. */
async function ranBy(url: string, handlerId: string, payload: unknown, token?: string): Promise<Run> {
  const headers = { ...json, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const scope = { productId: 'local', tenantId: 't' };
  const body = JSON.stringify({ handlerId, payload, scope });
  const started = await fetch(`${url}/execution/runs`, { method: 'POST', headers, body });
  let got = (await started.json()) as Run;
  expect(started.ok, JSON.stringify(got)).toBe(true);
  const path = `${url}/execution/runs/${got.id}?waitSeconds=20`;
  while (['queued', 'running', 'waiting'].includes(got.status))
    got = (await (await fetch(path, { headers })).json()) as Run;
  return got;
}

describe('the local cloud', () => {
  test('serves every group on one address, over Firestore', async (context) => {
    const { program, url, ports } = await startOrSkip(context);
    await using _ = program;
    const children = await childrenOf(program);
    expect(children.length).toBeGreaterThanOrEqual(7);
    // A terminal sends Ctrl-C to a whole group, and these are stopped each in its turn.
    const { stdout: groups } = await run('ps', ['-o', 'pgid=', '-p', children.join()]);
    expect(new Set(groups.trim().split(/\s+/).map(Number))).toEqual(new Set(children));
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({
      storage: { canonicalStore: 'firestore' },
    });
    await isReady(url);
    expect(await (await fetch(`${url}/docs`)).text()).toContain('API reference');
    const first = await commit(url, 't', 'once');
    expect(first.status, await first.clone().text()).toBe(200);
    expect(await first.json()).toMatchObject({ replayed: false });
    expect(await (await commit(url, 't', 'once')).json()).toMatchObject({ replayed: true });
    const started = await fetch(`${url}/execution/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"handlerId":"nobody"}',
    });
    // The function of runs keeps them in the same database; there is no such handler.
    expect(await started.json()).toMatchObject({ code: 'handler_missing' });
    expect(await (await fetch(`${url}/execution/runs`)).json()).toMatchObject([{ status: 'rejected' }]);
    // A request that the functions refuse reaches them as it was sent.
    const refused = await fetch(`${url}/canonical/tenants/a%2Fb/outbox/query`, {
      method: 'POST',
      body: '{}',
    });
    expect(await refused.json()).toMatchObject({ status: 400, code: 'invalid_path_segment' });
    expect(await (await fetch(`${url}/nothing`)).json()).toMatchObject({
      status: 404,
      code: 'route_not_found',
    });
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    await Promise.all(ports.map(refusesConnections));
    await gone(children);
  });

  test('has the queue deliver runs to the worker, and the scheduler call for maintenance', async (context) => {
    const { program, url, admin } = await startOrSkip(context, [
      `--ExecutionRuntime:Plugins:0=${plugin}`,
      '--ExecutionRuntime:ExternalHandlers:0:HandlerId=outside',
    ]);
    await using _ = program;
    expect(await ranBy(url, 'local.echo', { a: 1 })).toMatchObject({ status: 'succeeded', result: { a: 1 } });
    expect(await ranBy(url, 'local.later', null)).toMatchObject({ status: 'succeeded', result: 'later' });
    const post = (path: string, body: object) =>
      fetch(`${url}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const outside = (await (await post('/execution/runs', { handlerId: 'outside' })).json()) as Run;
    const asked = { workerId: 'me', handlerIds: ['outside'], ttlSeconds: 600, waitSeconds: 20 };
    const leased = await post('/execution/workers/leases', asked);
    expect(await leased.json()).toMatchObject({ run: { id: outside.id, status: 'running' } });
    const { queues, jobs } = (await (await fetch(`${admin}/state`)).json()) as {
      queues: unknown[];
      jobs: { name: string }[];
    };
    expect(queues).toMatchObject([{ queue: { name: queue, retryConfig: { maxAttempts: -1 } } }]);
    expect(jobs.map(({ name }) => name)).toEqual(['reconcile', 'prune']);
    expect(await (await fetch(admin)).text()).toContain(`<h2>${queue}</h2>`);
    for (const { name } of jobs) {
      const ran = await fetch(`${admin}/scheduler/jobs/${name}:run`, { method: 'POST' });
      expect(await ran.json()).toMatchObject({ run: { succeeded: true, message: 'HTTP status code 200' } });
    }
    await using shown = start({ ADMIN_PORT: new URL(admin).port }, ['--show']);
    expect((await shown.exit).code).toBe(0);
    expect(shown.stdout).toContain(`${queue}  RUNNING`);
    expect(shown.stdout).toMatch(/^job prune {2}.* HTTP status code 200$/m);
    // The worker believes only the queue.
    const delivery = { method: 'POST', headers: { ...json, 'x-svc-execution-dispatch': '1' }, body: '{}' };
    expect((await fetch(`${url}/tasks/execution`, delivery)).status).toBe(401);
    program.signal('SIGINT');
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });

  test('asks for tokens with --oidc, as the cloud would', async (context) => {
    const options = ['--oidc', `--ExecutionRuntime:Plugins:0=${plugin}`];
    const { program, url, admin, issuer } = await startOrSkip(context, options);
    await using _ = program;
    expect(program.stdout).toContain(`Token: curl -s ${issuer}/token `);
    const token = (email: string) => tokenOf(issuer, email);
    const statusFor = async (authorization: string | undefined) => {
      const headers = { ...json, ...(authorization && { authorization }) };
      const body = JSON.stringify({ idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', payload: {} }] });
      const path = `${url}/canonical/tenants/t/transactions`;
      return (await fetch(path, { method: 'POST', headers, body })).status;
    };
    expect(await statusFor(undefined)).toBe(401);
    expect(await statusFor(`Bearer ${await token('writer@local.example')}`)).toBe(200);
    expect(await statusFor(`Bearer ${await token('reader@local.example')}`)).toBe(403);
    expect(await statusFor(`Bearer ${await token('stranger@local.example')}`)).toBe(403);
    const runs = async (email: string) => {
      const headers = { authorization: `Bearer ${await token(email)}` };
      return (await fetch(`${url}/execution/runs`, { headers })).status;
    };
    expect((await fetch(`${url}/execution/runs`)).status).toBe(401);
    expect(await runs('writer@local.example')).toBe(200);
    expect(await runs('worker@local.example')).toBe(403);
    const done = await ranBy(url, 'local.echo', 'x', await token('writer@local.example'));
    expect(done).toMatchObject({ status: 'succeeded', result: 'x' });
    const maintained = await fetch(`${admin}/scheduler/jobs/reconcile:run`, { method: 'POST' });
    expect(await maintained.json()).toMatchObject({ run: { succeeded: true } });
    // The function itself asks who calls, and so does the worker.
    const { jobs } = (await (await fetch(`${admin}/scheduler/jobs`)).json()) as {
      jobs: { target: string }[];
    };
    const callFor = async (email: string) => {
      const headers = { authorization: `Bearer ${await token(email)}` };
      return (await fetch(jobs[0]?.target ?? '', { method: 'POST', headers })).status;
    };
    expect((await fetch(jobs[0]?.target ?? '', { method: 'POST' })).status).toBe(401);
    expect(await callFor('writer@local.example')).toBe(403);
    expect(await callFor('scheduler@local.example')).toBe(200);
    program.signal('SIGTERM');
    expect((await program.exit).code).toBe(0);
  });

  test.each([
    ['function-host', /^The function \w+ stopped: it ended with SIGKILL\.$/m],
    ['CloudFirestore', /^The Firestore emulator stopped: it ended with SIGKILL\.$/m],
  ])('ends as a whole when a process of %s ends', async (name, message) => {
    const program = start();
    await using _ = program;
    await program.says(ready);
    const children = await childrenOf(program);
    const [victim] = await childrenOf(program, name);
    process.kill(victim ?? 0, 'SIGKILL');
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toMatch(message);
    await gone(children);
  });

  test('leaves nothing behind when it is killed itself', async (context) => {
    const { program, ports } = await startOrSkip(context);
    await using _ = program;
    const children = await childrenOf(program);
    program.signal('SIGKILL');
    await program.exit;
    await gone(children);
    await Promise.all(ports.map(refusesConnections));
  });

  test('answers requests under way before it ends', async (context) => {
    // The end of the request is a signal of this test; a busy machine may take long to get there.
    const { program, ports } = await startOrSkip(context, [], { Server__DrainSeconds: '600' });
    await using _ = program;
    const [port = 0] = ports;
    const held = await halfSentCommit(port, 't');
    program.signal('SIGINT');
    await refusesConnections(port);
    expect(await held.finish()).toContain('HTTP/1.1 200');
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });

  test('ends at once at the second signal', async (context) => {
    const { program, ports } = await startOrSkip(context);
    await using _ = program;
    const children = await childrenOf(program);
    const [port = 0] = ports;
    await halfSentCommit(port, 't');
    program.signal('SIGTERM');
    await refusesConnections(port);
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 143, signal: null });
    await gone(children);
  });

  test('keeps tasks in a folder over a restart', async (context) => {
    const to = await target();
    const during = async (work: (cloud: Awaited<ReturnType<typeof startOrSkip>>) => Promise<void>) => {
      const cloud = await startOrSkip(context, ['--data', join(folder, 'tasks')]);
      await using _ = cloud.program;
      await work(cloud);
      cloud.program.signal('SIGTERM');
      expect(await cloud.program.exit).toEqual({ code: 0, signal: null });
    };
    await during(async ({ tasks }) => {
      const client = clientOf(tasks);
      await client.pauseQueue({ name: queue });
      const oidcToken = { serviceAccountEmail: 'tasks-invoker@local.example', audience: 'here' };
      const task = { name: `${queue}/tasks/kept`, httpRequest: { url: to.url, oidcToken } };
      await client.createTask({ parent: queue, task });
    });
    expect(to.received).toEqual([]);
    await during(async ({ tasks, issuer }) => {
      await clientOf(tasks).resumeQueue({ name: queue });
      const received = await to.next();
      received.answer(200);
      expect(received.headers['x-cloudtasks-taskname']).toBe('kept');
      const claims = received.headers.authorization?.split('.')[1] ?? '';
      expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
        iss: issuer,
        email: 'tasks-invoker@local.example',
      });
    });
  });
});

test('reports the fault when it cannot start', async () => {
  await using noJar = start({ FIRESTORE_EMULATOR_JAR: join(folder, 'none.jar') });
  expect((await noJar.exit).code).toBe(1);
  expect(noJar.stderr).toContain('no Firestore emulator found');
  await using wrong = new Program([join(root, 'emulator/main.ts'), 'up'], { cwd: folder });
  expect((await wrong.exit).code).toBe(1);
  expect(wrong.stderr).toContain('Options are written --Key=value');
});

test('--help', async () => {
  await using help = new Program([join(root, 'emulator/main.ts'), '--help'], { cwd: folder });
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('FIRESTORE_EMULATOR_HOST');
});
