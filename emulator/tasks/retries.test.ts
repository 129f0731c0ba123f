import { describe, expect, test } from 'vitest';
import { Faults } from './faults.ts';
import { createQueue } from './queue-calls.ts';
import { codeOf, seconds, stage, TimedWorld, taskOf, type WireQueue } from './stage.fixture.ts';

import { createTask, runTask } from './task-calls.ts';
import { TasksState } from './tasks-state.ts';
import { memoryTasksStore } from './tasks-store.ts';

/** The times at which tasks are sent, on a clock that the test moves. */

const url = 'http://localhost/';
const minuteMs = 60_000;

async function timed(settings: WireQueue = {}) {
  const world = new TimedWorld();
  const all = await stage({ world }, settings);
  const create = (id: string, scheduleMs?: number, more = {}) => {
    const at = { scheduleTime: msTime(world.epochMs - world.now + (scheduleMs ?? 0)) };
    const task = taskOf(all.queue, id, url, { ...(scheduleMs === undefined ? {} : at), ...more });
    return all.client.createTask({ parent: all.queue, task });
  };
  return { ...all, world, create };
}

function msTime(ms: number): { seconds: number; nanos: number } {
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 };
}

describe('retries', () => {
  test('come after the times of the example in the protocol, and end at the last attempt', async () => {
    const { client, queue, world, create } = await timed({
      retryConfig: { maxAttempts: 9, minBackoff: seconds(10), maxBackoff: seconds(300), maxDoublings: 3 },
    });
    world.answer = () => 500;
    await create('a');
    await world.pass(60 * minuteMs);
    const waits = world.times.map((at, index) => (at - (world.times[index - 1] ?? 0)) / 1000);
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 240, 300, 300]);
    expect(await codeOf(client.getTask({ name: `${queue}/tasks/a` }))).toBe(5);
  });

  test('without settings begin after 100 ms and double up to an hour, a hundred attempts in all', async () => {
    const { world, create } = await timed();
    world.answer = () => 500;
    await create('a');
    await world.pass(29 * 24 * 60 * minuteMs);
    const waits = world.times.map((at, index) => at - (world.times[index - 1] ?? 0));
    const expected = Array.from({ length: 99 }, (_, index) => Math.min(3_600_000, 100 * 2 ** index));
    expect(waits).toEqual([0, ...expected]);
  });

  test('go on past the last attempt, but not past their duration as well', async () => {
    const { world, create } = await timed({
      retryConfig: {
        maxAttempts: 2,
        maxRetryDuration: seconds(35),
        minBackoff: seconds(10),
        maxBackoff: seconds(10),
      },
    });
    world.answer = () => 500;
    await create('a');
    await world.pass(60 * minuteMs);
    expect(world.times).toEqual([0, 10_000, 20_000, 30_000]);
  });

  test('end with the first success', async () => {
    const { client, queue, world, create } = await timed();
    world.answer = () => (world.sent.length < 3 ? 500 : 299);
    await create('a');
    await world.pass(60 * minuteMs);
    expect(world.times).toEqual([0, 100, 300]);
    expect(await codeOf(client.getTask({ name: `${queue}/tasks/a` }))).toBe(5);
  });

  test.each([
    ['300', 300],
    ['400', 400],
    ['404', 404],
    ['500', 500],
  ])('come after %s', async (_, status) => {
    const { world, create } = await timed();
    world.answer = () => status;
    await create('a');
    await world.pass(150);
    expect(world.times).toEqual([0, 100]);
  });

  test.each([
    ['in seconds', '30', 30_000],
    ['as a date', 'Thu, 01 Jan 2026 00:00:45 GMT', 45_000],
    ['earlier than the backoff', '0', 100],
  ])('wait as long as the target asks, %s', async (_, retryAfter, expected) => {
    const { world, create } = await timed();
    world.answer = () => ({ status: 503, retryAfter });
    await create('a');
    await world.pass(expected - 1);
    expect(world.times).toEqual([0]);
    await world.pass(1);
    expect(world.times).toEqual([0, expected]);
  });

  test('say in the task when they come and what came before', async () => {
    const { client, queue, world, create } = await timed();
    world.answer = () => 429;
    await create('a');
    await world.pass(50);
    const [task] = await client.getTask({ name: `${queue}/tasks/a` });
    const begin = world.epochMs - 50;
    const wire = (ms: number) => ({
      seconds: String(Math.floor(ms / 1000)),
      nanos: (ms % 1000) * 1e6,
    });
    expect(task).toMatchObject({
      scheduleTime: wire(begin + 100),
      dispatchCount: 1,
      responseCount: 1,
      firstAttempt: { dispatchTime: wire(begin), scheduleTime: null },
      lastAttempt: {
        scheduleTime: wire(begin),
        dispatchTime: wire(begin),
        responseTime: wire(begin),
        responseStatus: { code: 8, message: 'HTTP status code 429' },
      },
    });
  });

  test('come when the target has not answered within the deadline', async () => {
    const { client, queue, world, create } = await timed();
    world.answer = () => null;
    await create('a');
    await create('b', undefined, { dispatchDeadline: seconds(15) });
    await world.pass(10 * minuteMs + 99);
    const timesOf = (id: string) => world.sent.filter((each) => each.id === id).map(({ at }) => at);
    expect(timesOf('b').slice(0, 3)).toEqual([0, 15_100, 30_300]);
    expect(timesOf('a')).toEqual([0]);
    const [task] = await client.getTask({ name: `${queue}/tasks/a` });
    expect(task).toMatchObject({
      dispatchCount: 1,
      responseCount: 0,
      lastAttempt: { responseTime: null, responseStatus: { code: 4 } },
    });
    await world.pass(1);
    expect(timesOf('a')).toEqual([0, 600_100]);
    world.answer = () => 200;
    await world.pass(20 * minuteMs);
  });
});

describe('a scheduled task', () => {
  test('is sent at its time, also where another task was created before it', async () => {
    const { world, create } = await timed();
    await create('c', 30_000);
    await create('a', 10_000);
    await create('b', 20_000);
    await world.pass(9999);
    expect(world.sent).toEqual([]);
    await world.pass(60_000);
    expect(world.sent.map(({ id, at }) => [id, at])).toEqual([
      ['a', 10_000],
      ['b', 20_000],
      ['c', 30_000],
    ]);
    expect(world.sent[0]?.call.headers['x-cloudtasks-tasketa']).toBe(
      ((world.epochMs - world.now + 10_000) / 1000).toFixed(6),
    );
  });

  test('is sent at its time in 30 days, longer than any timer lasts', async () => {
    const { world, create } = await timed();
    const days = 30 * 24 * 60 * minuteMs;
    await create('a', days);
    await world.pass(days - 1);
    expect(world.sent).toEqual([]);
    await world.pass(1);
    expect(world.times).toEqual([days]);
  });
});

describe('the rate of a queue', () => {
  test('sends a burst and then as many as it says', async () => {
    const { world, create } = await timed({ rateLimits: { maxDispatchesPerSecond: 2 } });
    for (let count = 0; count < 14; count += 1) await create(`t${count}`);
    await world.pass(minuteMs);
    expect(world.times).toEqual([...Array.from({ length: 10 }, () => 0), 500, 1000, 1500, 2000]);
    expect(world.sent.map(({ id }) => id)).toEqual(Array.from({ length: 14 }, (_, count) => `t${count}`));
  });

  test('holds for retries too', async () => {
    const { world, create } = await timed({
      rateLimits: { maxDispatchesPerSecond: 1 },
      retryConfig: { minBackoff: { nanos: 0 }, maxAttempts: 13 },
    });
    world.answer = () => 500;
    await create('a');
    await world.pass(minuteMs);
    expect(world.times).toEqual([...Array.from({ length: 10 }, () => 0), 1000, 2000, 3000]);
  });

  test('is taken up at once when it is raised', async () => {
    const { client, queue, world, create } = await timed({ rateLimits: { maxDispatchesPerSecond: 0.01 } });
    for (let count = 0; count < 12; count += 1) await create(`t${count}`);
    await world.pass(1000);
    expect(world.sent).toHaveLength(10);
    await client.updateQueue({ queue: { name: queue, rateLimits: { maxDispatchesPerSecond: 500 } } });
    await world.pass(10);
    // The new rate counts from now on: the second that has passed is worth a hundredth of a token.
    expect(world.times.slice(10)).toEqual([1002, 1004]);
  });

  test('is halved by each 429 and 503, and comes back with successes', async () => {
    const { emulator, world, create } = await timed({
      rateLimits: { maxDispatchesPerSecond: 2 },
      retryConfig: { maxAttempts: 1 },
    });
    const share = async () => {
      const state = await (await fetch(`${emulator.adminUrl}/state`)).json();
      return (state as { queues: { rateShare: number }[] }).queues[0]?.rateShare;
    };
    const answers = [429, 503, 500, 404];
    world.answer = () => answers.shift() ?? 200;
    for (let count = 0; count < 4; count += 1) await create(`f${count}`);
    await world.pass(0);
    expect(await share()).toBe(1 / 4);
    await world.pass(minuteMs);
    // A quarter of the burst of ten, then one task in two seconds, a little faster after each.
    world.sent.splice(0);
    for (let count = 0; count < 5; count += 1) await create(`s${count}`);
    await world.pass(minuteMs);
    const [first, second, third = 0, fourth = 0] = world.times.map((at) => at - minuteMs);
    expect([first, second]).toEqual([0, 0]);
    expect(third).toBeGreaterThan(0);
    expect(fourth - third).toBeGreaterThan(1000);
    expect(fourth - third).toBeLessThan(2000);
    expect(await share()).toBe(1 / 4 + 5 / 16);
  });

  test('has no more at the same time than it says', async () => {
    const { world, create } = await timed({ rateLimits: { maxConcurrentDispatches: 2 } });
    world.answer = () => null;
    for (const id of ['a', 'b', 'c', 'd'])
      await create(id, undefined, { dispatchDeadline: seconds(id === 'a' ? 15 : 20) });
    await world.pass(14_999);
    expect(world.sent.map(({ id }) => id)).toEqual(['a', 'b']);
    world.answer = () => 200;
    await world.pass(1);
    expect(world.sent.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
    await world.pass(minuteMs);
  });

  test('is one for each queue', async () => {
    const { client, location, world, create } = await timed({ rateLimits: { maxConcurrentDispatches: 1 } });
    const other = `${location}/queues/other`;
    await client.createQueue({ parent: location, queue: { name: other } });
    world.answer = ({ id }) => (id === 'a' ? null : 200);
    await create('a');
    await create('b');
    await client.createTask({ parent: other, task: taskOf(other, 'c', url) });
    await world.pass(0);
    expect(world.sent.map(({ id }) => id)).toEqual(['a', 'c']);
    await client.deleteQueue({ name: other });
    world.answer = () => 200;
    await world.pass(11 * minuteMs);
  });
});

describe('a task that is run by hand', () => {
  test('is sent although its queue is paused and its time has not come', async () => {
    const { client, queue, world, create } = await timed({ rateLimits: { maxConcurrentDispatches: 1 } });
    await client.pauseQueue({ name: queue });
    await create('a', minuteMs);
    await create('b');
    const name = `${queue}/tasks/a`;
    expect((await client.runTask({ name }))[0]).toMatchObject({ name, dispatchCount: 1, view: 'BASIC' });
    await world.pass(0);
    expect(world.sent.map(({ id }) => id)).toEqual(['a']);
    expect(await codeOf(client.runTask({ name }))).toBe(5);
    await client.resumeQueue({ name: queue });
    await world.pass(2 * minuteMs);
    expect(world.sent.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('that fails is tried again after its backoff from when it was asked for, and not at its old time', async () => {
    const { client, queue, world, create } = await timed({ retryConfig: { minBackoff: seconds(30) } });
    world.answer = () => (world.sent.length === 1 ? null : 200);
    await create('a', 15_000, { dispatchDeadline: seconds(20) });
    await world.pass(5000);
    await client.runTask({ name: `${queue}/tasks/a` });
    await world.pass(5 * minuteMs);
    expect(world.times).toEqual([5000, 35_000]);
  });

  test('is sent once more while it is under way', async () => {
    const { client, queue, world, create } = await timed();
    world.answer = () => (world.sent.length === 1 ? null : 200);
    await create('a', undefined, { dispatchDeadline: seconds(15) });
    await world.pass(1000);
    await client.runTask({ name: `${queue}/tasks/a` });
    await world.pass(minuteMs);
    expect(world.times).toEqual([0, 1000]);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  });
});

test('a task is sent once its creation is settled, and no second time where it was run by hand before', async () => {
  const world = new TimedWorld();
  const settling: (() => void)[] = [];
  const state = new TasksState({
    world,
    faults: new Faults(),
    mintToken: () => Promise.resolve(''),
    taskNameHeldMs: 0,
    queueNameHeldMs: 0,
    store: { ...memoryTasksStore, settled: () => new Promise((resolve) => settling.push(resolve)) },
  });
  const parent = 'projects/p/locations/l/queues/q';
  const calls = [createQueue(state, { parent: 'projects/p/locations/l', queue: { name: parent } })];
  for (const id of ['a', 'b']) calls.push(createTask(state, { parent, task: taskOf(parent, id, url) }));
  await world.pass(0);
  expect(world.sent).toEqual([]);
  world.answer = () => null;
  calls.push(runTask(state, { name: `${parent}/tasks/b` }));
  for (const settle of settling) settle();
  await Promise.all(calls);
  await world.pass(0);
  expect(world.sent.map(({ id }) => id).sort()).toEqual(['a', 'b']);
  await state.stop(0);
});

test('a task that is deleted while it is under way is not tried again', async () => {
  const { client, queue, world, create } = await timed();
  world.answer = () => null;
  await create('a', undefined, { dispatchDeadline: seconds(15) });
  await world.pass(1000);
  await client.deleteTask({ name: `${queue}/tasks/a` });
  await world.pass(60 * minuteMs);
  expect(world.times).toEqual([0]);
});
