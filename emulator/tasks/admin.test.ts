import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Scheduler } from '../scheduler.ts';
import { showState } from './show.ts';
import { codeOf, stage, TimedWorld, taskOf } from './stage.fixture.ts';

const switches = {
  lose: { probability: 0.25, seed: 3 },
  refuse: { probability: 0, seed: 1, code: 14, carriedOut: false, methods: ['CreateTask'] },
};

/** An emulator with one job, which runs only on request. */
async function shown() {
  const world = new TimedWorld();
  const scheduler = new Scheduler({ world, mint: () => Promise.resolve('secret') });
  const oidc = { serviceAccountEmail: 'scheduler@local.example', audience: 'svc' };
  scheduler.add({ name: 'tidy', schedule: '0 3 * * *', target: 'http://localhost/tidy', oidc });
  const all = await stage({ world, scheduler });
  const at = (path: string, init: RequestInit = {}) => fetch(`${all.emulator.adminUrl}${path}`, init);
  return { ...all, world, at };
}

function put(body: unknown): RequestInit {
  return { method: 'PUT', body: typeof body === 'string' ? body : JSON.stringify(body) };
}

test('the state has all queues with their tasks, without their bodies', async () => {
  const { client, queue, world, at } = await shown();
  world.answer = () => 500;
  const body = Buffer.from('secret');
  const task = taskOf(queue, 'a', 'http://localhost/', { httpRequest: { body } });
  await client.createTask({ parent: queue, task });
  await world.pass(0);
  const response = await at('/state');
  expect(response.headers.get('content-type')).toBe('application/json');
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({
    faults: { switches: {} },
    queues: [
      {
        queue: { name: queue, state: 'RUNNING' },
        rateShare: 1,
        running: 0,
        ready: 0,
        taskCount: 1,
        tasks: [
          {
            name: `${queue}/tasks/a`,
            dispatchCount: 1,
            scheduledAt: new Date(world.epochMs + 100).toISOString(),
            lastAttempt: { responseStatus: { message: 'HTTP status code 500' } },
          },
        ],
      },
    ],
  });
  expect(text).not.toContain('secret');
  expect(text).not.toContain(body.toString('base64'));
});

test('the page shows them as text, and runs nothing', async () => {
  const { client, queue, at } = await shown();
  await client.pauseQueue({ name: queue });
  const task = taskOf(queue, 'a', 'http://localhost/?<script>"x"</script>&y');
  await client.createTask({ parent: queue, task });
  const response = await at('/');
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).toContain(`<h2>${queue}</h2>`);
  expect(page).toContain('PAUSED: 1 tasks');
  expect(page).toContain('?&lt;script&gt;&quot;x&quot;&lt;/script&gt;&amp;y');
  expect(page).not.toContain('<script');
});

describe('the jobs of the scheduler beside it', () => {
  test('are shown, and one runs on request', async () => {
    const { world, at } = await shown();
    const jobs = { name: 'tidy', running: false, nextAt: '2026-01-01T03:00:00.000Z', last: null };
    expect(await (await at('/scheduler/jobs')).json()).toMatchObject({ jobs: [jobs] });
    world.answer = () => 418;
    const ran = await at('/scheduler/jobs/tidy:run', { method: 'POST' });
    expect([ran.status, await ran.json()]).toMatchObject([
      200,
      { name: 'tidy', run: { succeeded: false, message: 'HTTP status code 418', attempts: 1 } },
    ]);
    expect(world.sent.map(({ call }) => `${call.method} ${call.url}`)).toEqual([
      'POST http://localhost/tidy',
    ]);
    expect(await (await at('/state')).json()).toMatchObject({
      jobs: [{ last: { startedAt: '2026-01-01T00:00:00.000Z', message: 'HTTP status code 418' } }],
    });
    const page = await (await at('/')).text();
    expect(page).toContain('<td>tidy</td><td>0 3 * * *</td><td>POST http://localhost/tidy</td>');
    expect(page).not.toContain('secret');
  });

  test('are not run by a page of the web', async () => {
    const { world, emulator, at } = await shown();
    for (const origin of ['https://elsewhere.example', 'null', emulator.adminUrl]) {
      const refused = await at('/scheduler/jobs/tidy:run', { method: 'POST', headers: { origin } });
      expect(refused.status, origin).toBe(403);
    }
    expect(world.sent).toEqual([]);
  });

  test.each([
    ['GET', '/scheduler/jobs/tidy:run', 405],
    ['POST', '/scheduler/jobs', 405],
    ['POST', '/scheduler/jobs/none:run', 404],
    ['POST', '/scheduler/jobs/tidy', 404],
    ['POST', '/scheduler/jobs/tidy:run:run', 404],
  ])('%s %s is answered with %i', async (method, path, status) => {
    const { world, at } = await shown();
    expect((await at(path, { method })).status).toBe(status);
    expect(world.sent).toEqual([]);
  });

  test('are not there where no scheduler is', async () => {
    const { emulator } = await stage();
    expect((await fetch(`${emulator.adminUrl}/scheduler/jobs`)).status).toBe(404);
  });
});

test('a shell is shown the same as lines', async () => {
  const { client, queue, emulator, world } = await shown();
  world.answer = () => 500;
  await client.createTask({ parent: queue, task: taskOf(queue, 'a', 'http://localhost/x') });
  await world.pass(0);
  expect((await showState(emulator.adminUrl)).split('\n')).toEqual([
    `${queue}  RUNNING  1 tasks, 0 due, 0 under way`,
    '  a  POST http://localhost/x  2026-01-01T00:00:00.100Z  1 attempts, HTTP status code 500',
    'job tidy  0 3 * * *  next 2026-01-01T03:00:00.000Z  not run yet',
  ]);
  await emulator.stop();
  await expect(showState(emulator.adminUrl)).rejects.toThrow('ADMIN_PORT names another port');
});

describe('the fault switches', () => {
  test('are set as a whole, shown and taken away', async () => {
    const { client, location, at } = await shown();
    const answer = await at('/faults', put(switches));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ switches, struck: { lose: 0 } });
    expect(await (await at('/faults')).json()).toMatchObject({ switches });
    const refuse = { ...switches.refuse, probability: 1, code: 7, methods: ['GetQueue'] };
    await at('/faults', put({ refuse }));
    const name = `${location}/queues/none`;
    expect(await codeOf(client.pauseQueue({ name }))).toBe(5);
    expect(await codeOf(client.getQueue({ name }))).toBe(7);
    expect(await (await at('/faults')).json()).toMatchObject({ struck: { lose: 0, refuse: 1 } });
    expect(await (await at('/faults', { method: 'DELETE' })).json()).toMatchObject({ switches: {} });
    expect(await codeOf(client.getQueue({ name }))).toBe(5);
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['a list', []],
    ['an unknown switch', { explode: { probability: 1, seed: 1 } }],
    ['too much', ' '.repeat(70_000)],
  ])('stay as they are when they are set to %s', async (_, body) => {
    const { at } = await shown();
    await at('/faults', put(switches));
    expect((await at('/faults', put(body))).status).toBe(400);
    expect(await (await at('/faults')).json()).toMatchObject({ switches });
  });
});

test('an unknown path is a 404, and a wrong method a 405 that names the right ones', async () => {
  const { at } = await shown();
  expect((await at('/none')).status).toBe(404);
  const posted = await at('/state', { method: 'POST', body: '{}' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  const other = await at('/faults', { method: 'POST', body: '{}' });
  expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
});

test.each([
  ['localhost', 200],
  ['127.0.0.1:1', 200],
  ['evil.test', 403],
  ['127.0.0.1.evil.test', 403],
])('who calls it %s is answered with %i', async (host, expected) => {
  const { emulator } = await shown();
  const status = await new Promise((resolve, reject) => {
    const outgoing = request(`${emulator.adminUrl}/state`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.once('error', reject).end();
  });
  expect(status).toBe(expected);
});
