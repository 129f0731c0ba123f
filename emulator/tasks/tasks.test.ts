import { describe, expect, test } from 'vitest';
import { codeOf, seconds, stage, TimedWorld, taskOf, type WireTask } from './stage.fixture.ts';

const url = 'http://localhost:1/path';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A stage whose queue sends nothing. */
async function paused() {
  const world = new TimedWorld();
  const all = await stage({ world });
  await all.client.pauseQueue({ name: all.queue });
  const create = (task: WireTask) => all.client.createTask({ parent: all.queue, task });
  return { ...all, world, create };
}

function msOf(time: WireTask['scheduleTime']): number {
  return Number(time?.seconds) * 1000 + Number(time?.nanos) / 1e6;
}

describe('a task that is created', () => {
  test('has what was given, and its body in the full view alone', async () => {
    const { client, queue, world, create } = await paused();
    const at = world.epochMs / 1000 + 77;
    const given: WireTask = {
      scheduleTime: { seconds: at, nanos: 123_456_789 },
      dispatchDeadline: { seconds: 15, nanos: 1_999_999 },
      httpRequest: {
        httpMethod: 'PUT',
        headers: { 'X-A': 'b', __proto__x: 'c' },
        body: Buffer.from('bytes \0\xff'),
        oidcToken: { serviceAccountEmail: 'a@b.test' },
      },
    };
    await world.pass(1);
    const [created] = await create(taskOf(queue, 'named-1_A', url, given));
    const expected = {
      name: `${queue}/tasks/named-1_A`,
      scheduleTime: { seconds: String(at), nanos: 123_456_000 },
      createTime: { seconds: String(Math.floor(world.epochMs / 1000)), nanos: 0 },
      dispatchDeadline: { seconds: '15', nanos: 1_000_000 },
      dispatchCount: 0,
      responseCount: 0,
      firstAttempt: null,
      lastAttempt: null,
      view: 'BASIC',
      httpRequest: {
        url,
        httpMethod: 'PUT',
        headers: given.httpRequest?.headers,
        oidcToken: { serviceAccountEmail: 'a@b.test', audience: url },
        body: Buffer.alloc(0),
      },
    };
    expect(created).toMatchObject(expected);
    const name = created.name ?? '';
    expect((await client.getTask({ name }))[0]).toEqual(created);
    const body = given.httpRequest?.body;
    const full = { ...expected, view: 'FULL', httpRequest: { ...expected.httpRequest, body } };
    expect((await client.getTask({ name, responseView: 'FULL' }))[0]).toMatchObject(full);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([created]);
    expect((await client.listTasks({ parent: queue, responseView: 'FULL' }))[0]).toMatchObject([full]);
  });

  test('without a name, a time and a method is given them', async () => {
    const { queue, world, create } = await paused();
    const [one] = await create(taskOf(queue, null, url));
    const [other] = await create(taskOf(queue, null, url));
    expect(one.name).toMatch(/\/queues\/q\/tasks\/\d{20}$/);
    expect(other.name).not.toBe(one.name);
    expect(msOf(one.scheduleTime)).toBe(world.epochMs);
    expect(one.httpRequest?.httpMethod).toBe('POST');
  });

  test('for a time that is over is for now', async () => {
    const { queue, world, create } = await paused();
    const [task] = await create(taskOf(queue, null, url, { scheduleTime: seconds(1) }));
    expect(msOf(task.scheduleTime)).toBe(world.epochMs);
  });

  const within = 1024 * 1024 - url.length;
  test.each<[string, WireTask]>([
    ['an id of 500 characters', { name: 'x'.repeat(500) }],
    ['a URL of 2083 characters', { httpRequest: { url: `${url}?${'x'.repeat(2082 - url.length)}` } }],
    ['headers of just less than 80 KiB', { httpRequest: { headers: { a: 'x'.repeat(81_918) } } }],
    ['1 MiB altogether', { httpRequest: { body: Buffer.alloc(within) } }],
    ['a deadline of 30 minutes', { dispatchDeadline: seconds(1800) }],
  ])('may have %s', async (_, { name, ...more }) => {
    const { queue, create } = await paused();
    expect(await codeOf(create(taskOf(queue, name ?? null, url, more)))).toBeUndefined();
  });

  test.each<[string, number, WireTask]>([
    ['an id of 501 characters', 3, { name: 'x'.repeat(501) }],
    ['an id with a dot', 3, { name: 'a.b' }],
    ['an id with a slash', 3, { name: 'a/b' }],
    ['no URL', 3, { httpRequest: { url: '' } }],
    ['a URL of another scheme', 3, { httpRequest: { url: 'ftp://localhost/' } }],
    ['what is no URL', 3, { httpRequest: { url: 'http://' } }],
    ['a URL of 2084 characters', 3, { httpRequest: { url: `${url}?${'x'.repeat(2083 - url.length)}` } }],
    ['a URL too long when encoded', 3, { httpRequest: { url: `${url}?${'ä'.repeat(400)}` } }],
    ['a URL of another machine', 9, { httpRequest: { url: 'http://192.0.2.1/' } }],
    ['a URL of another name', 9, { httpRequest: { url: 'https://localhost.example.test/' } }],
    ['a URL that only looks like loopback', 9, { httpRequest: { url: 'http://127.0.0.1@192.0.2.1/' } }],
    ['headers of 80 KiB', 3, { httpRequest: { headers: { a: 'x'.repeat(81_919) } } }],
    ['a header that is no name', 3, { httpRequest: { headers: { 'a b': 'c' } } }],
    ['a header that begins another', 3, { httpRequest: { headers: { a: 'b\r\nc: d' } } }],
    ['more than 1 MiB altogether', 3, { httpRequest: { body: Buffer.alloc(within + 1) } }],
    ['a body of 5 MiB', 3, { httpRequest: { body: Buffer.alloc(5 * 1024 * 1024) } }],
    ['a body with GET', 3, { httpRequest: { httpMethod: 'GET', body: Buffer.from('x') } }],
    ['a body with DELETE', 3, { httpRequest: { httpMethod: 'DELETE', body: Buffer.from('x') } }],
    ['a deadline below 15 seconds', 3, { dispatchDeadline: { seconds: 14, nanos: 999_000_000 } }],
    ['a deadline above 30 minutes', 3, { dispatchDeadline: { seconds: 1800, nanos: 1_000_000 } }],
    ['a time that is none', 3, { scheduleTime: { seconds: 1, nanos: -1 } }],
    ['an OAuth token', 12, { httpRequest: { oauthToken: { serviceAccountEmail: 'a@b.test' } } }],
    ['an ID token without a service account', 3, { httpRequest: { oidcToken: { audience: 'x' } } }],
    ['App Engine', 12, { appEngineHttpRequest: { relativeUri: '/' } }],
  ])('may not have %s', async (_, code, { name, ...more }) => {
    const { client, queue, create } = await paused();
    const task = taskOf(queue, name ?? null, url, more);
    if (more.appEngineHttpRequest) delete task.httpRequest;
    expect(await codeOf(create(task))).toBe(code);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  });

  test('may not be without a request, nor of another queue', async () => {
    const { client, location, queue, create } = await paused();
    expect(await codeOf(create({}))).toBe(3);
    expect(await codeOf(create(taskOf(`${location}/queues/other`, 'a', url)))).toBe(3);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  });

  test('may be for 30 days from now, and no later', async () => {
    const { queue, world, create } = await paused();
    const whole = Math.floor((world.epochMs + 30 * dayMs) / 1000);
    expect(await codeOf(create(taskOf(queue, 'a', url, { scheduleTime: seconds(whole) })))).toBeUndefined();
    const later = { seconds: whole, nanos: 1_000_000 };
    expect(await codeOf(create(taskOf(queue, 'b', url, { scheduleTime: later })))).toBe(3);
    await world.pass(1);
    expect(await codeOf(create(taskOf(queue, 'c', url, { scheduleTime: later })))).toBeUndefined();
  });
});

describe('the name of a task', () => {
  test('can be taken once, of many callers at the same time', async () => {
    const { queue, create } = await paused();
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => codeOf(create(taskOf(queue, 'one', url)))),
    );
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === 6)).toHaveLength(9);
  });

  test.each(['was executed', 'was deleted', 'was purged', 'was given up'])(
    'of a task that %s is free after the time for which it is held',
    async (how) => {
      const world = new TimedWorld();
      const settings = { retryConfig: { maxAttempts: 1 } };
      const { client, queue } = await stage({ world, taskNameHeldMs: 5000 }, settings);
      const create = () => codeOf(client.createTask({ parent: queue, task: taskOf(queue, 'a', url) }));
      world.answer = () => (how === 'was given up' ? 500 : 200);
      await client.pauseQueue({ name: queue });
      await create();
      if (how === 'was deleted') await client.deleteTask({ name: `${queue}/tasks/a` });
      else if (how === 'was purged') await client.purgeQueue({ name: queue });
      await client.resumeQueue({ name: queue });
      await world.pass(4999);
      expect(await create()).toBe(6);
      await world.pass(1);
      expect(await create()).toBeUndefined();
    },
  );

  test('is held for an hour where nothing else is said', async () => {
    const { client, queue, world, create } = await paused();
    await create(taskOf(queue, 'a', url));
    await client.deleteTask({ name: `${queue}/tasks/a` });
    await world.pass(hourMs - 1);
    expect(await codeOf(create(taskOf(queue, 'a', url)))).toBe(6);
    await world.pass(1);
    expect(await codeOf(create(taskOf(queue, 'a', url)))).toBeUndefined();
  });
});

describe('a list of tasks', () => {
  test('comes in pages while tasks are created and deleted', async () => {
    const { client, queue, create } = await paused();
    for (const id of ['c', 'a', 'd', 'b', 'e']) await create(taskOf(queue, id, url));
    const page = (pageToken = '') =>
      client.listTasks({ parent: queue, pageSize: 2, pageToken }, { autoPaginate: false });
    const seen: string[] = [];
    let token: string | null | undefined = '';
    for (let count = 0; count < 3; count += 1) {
      const [tasks, , answer]: Awaited<ReturnType<typeof page>> = await page(token ?? '');
      seen.push(...tasks.map(({ name }) => name?.split('/').at(-1) ?? ''));
      token = answer?.nextPageToken;
      if (count === 0) await client.deleteTask({ name: `${queue}/tasks/${seen.at(-1)}` });
    }
    expect(seen.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(token).toBe('');
    expect(await codeOf(page('bm8'))).toBe(3);
  });

  test('has no page that a client would not take', async () => {
    const { client, queue, create } = await paused();
    const body = Buffer.alloc(900 * 1024);
    for (let count = 0; count < 7; count += 1)
      await create(taskOf(queue, null, url, { httpRequest: { body } }));
    const request = { parent: queue, responseView: 'FULL' } as const;
    expect((await client.listTasks(request, { autoPaginate: false }))[0]).toHaveLength(3);
    expect((await client.listTasks(request))[0]).toHaveLength(7);
    expect((await client.listTasks({ parent: queue }, { autoPaginate: false }))[0]).toHaveLength(7);
  });

  test('has at most a thousand at a time', async () => {
    const { client, queue, create } = await paused();
    await Promise.all(Array.from({ length: 1001 }, () => create(taskOf(queue, null, url))));
    const request = { parent: queue, pageSize: 2000 };
    expect((await client.listTasks(request, { autoPaginate: false }))[0]).toHaveLength(1000);
    expect((await client.listTasks({ parent: queue }))[0]).toHaveLength(1001);
  });
});

test('a task that is deleted is not sent', async () => {
  const { client, queue, world, create } = await paused();
  await create(taskOf(queue, 'due', url));
  const scheduleTime = seconds(world.epochMs / 1000 + 60);
  await create(taskOf(queue, 'later', url, { scheduleTime }));
  for (const id of ['due', 'later']) await client.deleteTask({ name: `${queue}/tasks/${id}` });
  await client.resumeQueue({ name: queue });
  await world.pass(120_000);
  expect(world.sent).toEqual([]);
});

test('a task that was not sent within 31 days is gone', async () => {
  const { client, queue, world, create } = await paused();
  await create(taskOf(queue, 'a', url));
  await create(taskOf(queue, 'b', url));
  await world.pass(31 * dayMs - 1);
  expect((await client.listTasks({ parent: queue }))[0]).toHaveLength(2);
  await world.pass(1);
  expect(await codeOf(client.getTask({ name: `${queue}/tasks/a` }))).toBe(5);
  await client.resumeQueue({ name: queue });
  await world.pass(dayMs);
  expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  expect(world.sent).toEqual([]);
});

test('calls about a missing task answer NOT_FOUND, and those with a malformed name INVALID_ARGUMENT', async () => {
  const { client, queue, location } = await paused();
  for (const [name, code] of [
    [`${queue}/tasks/none`, 5],
    [`${location}/queues/none/tasks/none`, 5],
    [queue, 3],
    ['', 3],
  ] as const) {
    expect(await codeOf(client.getTask({ name }))).toBe(code);
    expect(await codeOf(client.deleteTask({ name }))).toBe(code);
    expect(await codeOf(client.runTask({ name }))).toBe(code);
  }
});
