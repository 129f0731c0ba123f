import { describe, expect, test } from 'vitest';
import { codeOf, seconds, stage, TimedWorld, type WireQueue } from './stage.fixture.ts';

const duration = (secs: number, nanos = 0) => ({ seconds: String(secs), nanos });

describe('a queue that is created', () => {
  test('has the defaults of the service, and is what get answers', async () => {
    const { client, queue } = await stage();
    const [got] = await client.getQueue({ name: queue });
    expect(got).toMatchObject({
      name: queue,
      state: 'RUNNING',
      rateLimits: { maxDispatchesPerSecond: 500, maxBurstSize: 100, maxConcurrentDispatches: 1000 },
      retryConfig: {
        maxAttempts: 100,
        maxRetryDuration: duration(0),
        minBackoff: duration(0, 100_000_000),
        maxBackoff: duration(3600),
        maxDoublings: 16,
      },
      purgeTime: null,
    });
  });

  test('has the settings that were given, cut as the protocol says', async () => {
    const { client, queue } = await stage(
      {},
      {
        rateLimits: { maxDispatchesPerSecond: 0.5, maxBurstSize: 77, maxConcurrentDispatches: 5000 },
        retryConfig: {
          maxAttempts: -1,
          maxRetryDuration: { seconds: 9, nanos: 999_000_000 },
          minBackoff: { seconds: 1, nanos: 500_000_000 },
          maxBackoff: seconds(20),
          maxDoublings: 2,
        },
        state: 'PAUSED',
        stackdriverLoggingConfig: { samplingRatio: 0.5 },
      },
    );
    expect((await client.getQueue({ name: queue }))[0]).toMatchObject({
      state: 'RUNNING',
      rateLimits: { maxDispatchesPerSecond: 0.5, maxBurstSize: 10, maxConcurrentDispatches: 5000 },
      retryConfig: {
        maxAttempts: -1,
        maxRetryDuration: duration(9),
        minBackoff: duration(1),
        maxBackoff: duration(20),
        maxDoublings: 2,
      },
      stackdriverLoggingConfig: { samplingRatio: 0.5 },
    });
  });

  test.each<[string, number, WireQueue]>([
    ['a rate above 500', 3, { rateLimits: { maxDispatchesPerSecond: 500.1 } }],
    ['a negative rate', 3, { rateLimits: { maxDispatchesPerSecond: -1 } }],
    ['more than 5000 at the same time', 3, { rateLimits: { maxConcurrentDispatches: 5001 } }],
    ['less than none at the same time', 3, { rateLimits: { maxConcurrentDispatches: -1 } }],
    ['attempts below -1', 3, { retryConfig: { maxAttempts: -2 } }],
    ['negative doublings', 3, { retryConfig: { maxDoublings: -1 } }],
    ['a negative duration', 3, { retryConfig: { maxRetryDuration: seconds(-1) } }],
    ['a least backoff above the greatest', 3, { retryConfig: { minBackoff: seconds(3601) } }],
    ['a sampling ratio above 1', 3, { stackdriverLoggingConfig: { samplingRatio: 1.1 } }],
    ['App Engine', 12, { appEngineRoutingOverride: { service: 's' } }],
  ])('is refused with %s', async (_, code, settings) => {
    const { client, location } = await stage();
    const name = `${location}/queues/other`;
    expect(await codeOf(client.createQueue({ parent: location, queue: { ...settings, name } }))).toBe(code);
    expect(await codeOf(client.getQueue({ name }))).toBe(5);
  });

  test.each([
    ['', 'p/locations/l/queues/q'],
    ['projects/p/locations/l', 'projects/p/locations/l/queues/with_underscore'],
    ['projects/p/locations/l', `projects/p/locations/l/queues/${'q'.repeat(101)}`],
    ['projects/p/locations/l', 'projects/p/locations/elsewhere/queues/q'],
    ['projects/p/locations/l/queues/q', 'projects/p/locations/l/queues/q'],
    ['projects/p/locations/l', 'projects/p/locations/l/queues/q/tasks/t'],
  ])('is refused in %j by the name %j', async (parent, name) => {
    const { client } = await stage();
    expect(await codeOf(client.createQueue({ parent, queue: { name } }))).toBe(3);
  });

  test('cannot be created twice', async () => {
    const { client, location, queue } = await stage();
    expect(await codeOf(client.createQueue({ parent: location, queue: { name: queue } }))).toBe(6);
  });
});

test('queues are listed by name, in pages, each location apart', async () => {
  const { client, location } = await stage();
  const names = ['b', 'a', 'r', 'c'].map((id) => `${location}/queues/${id}`);
  for (const name of names) await client.createQueue({ parent: location, queue: { name } });
  const other = location.replace('here', 'there');
  await client.createQueue({ parent: other, queue: { name: `${other}/queues/q` } });
  const expected = ['a', 'b', 'c', 'q', 'r'];
  const ids = (queues: readonly WireQueue[]) => queues.map(({ name }) => name?.split('/').at(-1));

  const [all] = await client.listQueues({ parent: location });
  expect(ids(all)).toEqual(expected);
  const [byTwo] = await client.listQueues({ parent: location, pageSize: 2 });
  expect(ids(byTwo)).toEqual(expected);
  const [first, , answer] = await client.listQueues(
    { parent: location, pageSize: 2 },
    { autoPaginate: false },
  );
  expect(ids(first)).toEqual(['a', 'b']);
  await client.deleteQueue({ name: `${location}/queues/b` });
  const pageToken = answer?.nextPageToken ?? '';
  const page = { parent: location, pageSize: 2, pageToken };
  expect(ids((await client.listQueues(page, { autoPaginate: false }))[0])).toEqual(['c', 'q']);
  expect(await codeOf(client.listQueues({ ...page, parent: other }))).toBe(3);
  expect(await codeOf(client.listQueues({ parent: location, pageToken: 'no' }))).toBe(3);
  expect(await codeOf(client.listQueues({ parent: location, pageSize: -1 }))).toBe(3);
  expect(await codeOf(client.listQueues({ parent: location, filter: 'state: PAUSED' }))).toBe(12);
});

describe('an update', () => {
  const given: WireQueue = {
    rateLimits: { maxDispatchesPerSecond: 100, maxConcurrentDispatches: 3 },
    retryConfig: { maxAttempts: 7, minBackoff: seconds(5), maxBackoff: seconds(50) },
  };

  test('without a mask sets all, and what is not given is the default', async () => {
    const { client, queue } = await stage({}, given);
    const [updated] = await client.updateQueue({ queue: { name: queue, retryConfig: { maxAttempts: 2 } } });
    expect(updated).toMatchObject({
      rateLimits: { maxDispatchesPerSecond: 500, maxBurstSize: 100, maxConcurrentDispatches: 1000 },
      retryConfig: { maxAttempts: 2, minBackoff: duration(0, 100_000_000), maxBackoff: duration(3600) },
    });
    expect((await client.getQueue({ name: queue }))[0]).toEqual(updated);
  });

  test('with a mask sets only what the mask names', async () => {
    const { client, queue } = await stage({}, given);
    const [updated] = await client.updateQueue({
      queue: {
        name: queue,
        state: 'PAUSED',
        rateLimits: { maxDispatchesPerSecond: 200, maxConcurrentDispatches: 9 },
        retryConfig: { maxAttempts: 2, minBackoff: seconds(10), maxDoublings: 0 },
      },
      updateMask: {
        paths: [
          'rate_limits.max_dispatches_per_second',
          'retry_config.min_backoff',
          'retry_config.max_doublings',
          'state',
        ],
      },
    });
    expect(updated).toMatchObject({
      state: 'RUNNING',
      rateLimits: { maxDispatchesPerSecond: 200, maxBurstSize: 40, maxConcurrentDispatches: 3 },
      retryConfig: { maxAttempts: 7, minBackoff: duration(10), maxBackoff: duration(50), maxDoublings: 0 },
    });
    const [whole] = await client.updateQueue({
      queue: { name: queue, retryConfig: { maxAttempts: 1 } },
      updateMask: { paths: ['retry_config'] },
    });
    expect(whole).toMatchObject({
      rateLimits: { maxDispatchesPerSecond: 200 },
      retryConfig: { maxAttempts: 1, minBackoff: duration(0, 100_000_000), maxDoublings: 16 },
    });
  });

  test('is held against what the queue has where the mask says nothing', async () => {
    const { client, queue } = await stage({}, { retryConfig: { maxBackoff: seconds(9000) } });
    const minBackoff = (count: number) =>
      client.updateQueue({
        queue: { name: queue, retryConfig: { minBackoff: seconds(count) } },
        updateMask: { paths: ['retry_config.min_backoff'] },
      });
    expect(await codeOf(minBackoff(9001))).toBe(3);
    expect(await codeOf(minBackoff(9000))).toBeUndefined();
  });

  test.each([
    'rateLimits',
    'retry_config.nothing',
    'retry_config.max_attempts.x',
    '',
    'rate_limits.constructor',
  ])('with the path %j is refused', async (path) => {
    const { client, queue } = await stage();
    const update = client.updateQueue({ queue: { name: queue }, updateMask: { paths: [path] } });
    expect(await codeOf(update)).toBe(3);
  });

  test('creates a queue that is not there', async () => {
    const { client, location } = await stage();
    const name = `${location}/queues/new`;
    await client.updateQueue({ queue: { name, retryConfig: { maxAttempts: 4 } } });
    expect((await client.getQueue({ name }))[0].retryConfig?.maxAttempts).toBe(4);
  });
});

test('the name of a deleted queue can be taken again after a time, and its tasks are gone', async () => {
  const world = new TimedWorld();
  const { client, location, queue } = await stage({ world });
  await client.pauseQueue({ name: queue });
  const task = { name: `${queue}/tasks/t`, httpRequest: { url: 'http://localhost/' } };
  await client.createTask({ parent: queue, task });
  await client.deleteQueue({ name: queue });
  expect(await codeOf(client.deleteQueue({ name: queue }))).toBe(5);
  expect(await codeOf(client.getTask({ name: task.name }))).toBe(5);
  const create = () => codeOf(client.createQueue({ parent: location, queue: { name: queue } }));
  await world.pass(7 * 86_400_000 - 1);
  expect(await create()).toBe(9);
  expect(await codeOf(client.updateQueue({ queue: { name: queue } }))).toBe(9);
  await world.pass(1);
  expect(await create()).toBeUndefined();
  expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  await client.createTask({ parent: queue, task });
  await world.pass(0);
  expect(world.sent).toHaveLength(1);
});

test('tasks of a deleted queue are not sent, and their names are free in a new queue of the same name', async () => {
  const world = new TimedWorld();
  const { client, location, queue } = await stage({ world, queueNameHeldMs: 0 });
  const task = { name: `${queue}/tasks/t`, httpRequest: { url: 'http://localhost/' } };
  const scheduleTime = { seconds: world.epochMs / 1000 + 60 };
  await client.createTask({ parent: queue, task: { ...task, scheduleTime } });
  await client.createTask({ parent: queue, task: { ...task, name: `${queue}/tasks/ended` } });
  await client.deleteQueue({ name: queue });
  expect(world.sent).toHaveLength(1);
  await client.createQueue({ parent: location, queue: { name: queue } });
  await world.pass(120_000);
  expect(world.sent).toHaveLength(1);
  await client.createTask({ parent: queue, task: { ...task, name: `${queue}/tasks/ended` } });
  await world.pass(0);
  expect(world.sent).toHaveLength(2);
});

test('a paused queue takes tasks and sends them when it is resumed', async () => {
  const world = new TimedWorld();
  const { client, queue } = await stage({ world });
  expect((await client.pauseQueue({ name: queue }))[0].state).toBe('PAUSED');
  await client.createTask({ parent: queue, task: { httpRequest: { url: 'http://localhost/' } } });
  await world.pass(60_000);
  expect(world.times).toEqual([]);
  expect((await client.resumeQueue({ name: queue }))[0].state).toBe('RUNNING');
  await world.pass(0);
  expect(world.times).toEqual([60_000]);
});

test('a purge deletes all tasks, and says when it was', async () => {
  const world = new TimedWorld();
  const { client, queue } = await stage({ world });
  await client.pauseQueue({ name: queue });
  const url = 'http://localhost/';
  for (let count = 0; count < 3; count += 1)
    await client.createTask({ parent: queue, task: { httpRequest: { url } } });
  const later = { seconds: Math.floor(world.epochMs / 1000) + 60 };
  await client.createTask({ parent: queue, task: { httpRequest: { url }, scheduleTime: later } });
  await world.pass(1500);
  const [purged] = await client.purgeQueue({ name: queue });
  expect(Number(purged.purgeTime?.seconds) * 1000 + Number(purged.purgeTime?.nanos) / 1e6).toBe(
    world.epochMs,
  );
  expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  await client.resumeQueue({ name: queue });
  await client.createTask({ parent: queue, task: { httpRequest: { url } } });
  await world.pass(120_000);
  expect(world.sent).toHaveLength(1);
});

test('calls about a missing queue answer NOT_FOUND, and those with a malformed name INVALID_ARGUMENT', async () => {
  const { client, location } = await stage();
  for (const [name, code] of [
    [`${location}/queues/none`, 5],
    ['none', 3],
  ] as const) {
    const codes = await Promise.all([
      codeOf(client.getQueue({ name })),
      codeOf(client.deleteQueue({ name })),
      codeOf(client.purgeQueue({ name })),
      codeOf(client.pauseQueue({ name })),
      codeOf(client.resumeQueue({ name })),
      codeOf(client.listTasks({ parent: name })),
      codeOf(client.createTask({ parent: name, task: { httpRequest: { url: 'http://localhost/' } } })),
    ]);
    expect(codes).toEqual(Array.from({ length: 7 }, () => code));
  }
});

test('calls that the emulator does not have answer that they are not implemented', async () => {
  const { client, queue } = await stage();
  expect(await codeOf(client.getIamPolicy({ resource: queue }))).toBe(12);
  expect(await codeOf(client.testIamPermissions({ resource: queue, permissions: ['x'] }))).toBe(12);
});
