import { describe, expect, test } from 'vitest';
import { type FaultSwitches, Faults, readFaults } from './faults.ts';
import { codeOf, seconds, stage, TimedWorld, taskOf, type WireQueue } from './stage.fixture.ts';

const always = { probability: 1, seed: 1 };
const url = 'http://localhost/';

async function faulty(faults: FaultSwitches, settings: WireQueue = {}) {
  const world = new TimedWorld();
  const all = await stage({ world, faults }, settings);
  const create = (id: string, more = {}) =>
    all.client.createTask({ parent: all.queue, task: taskOf(all.queue, id, url, more) });
  return { ...all, world, create, ids: () => world.sent.map(({ id }) => id) };
}

const tenIds = Array.from({ length: 10 }, (_, count) => `t${count}`);

describe('a task', () => {
  test('is lost without having been sent', async () => {
    const { client, queue, world, create } = await faulty({ lose: always });
    await create('a');
    await world.pass(3_600_000 - 1);
    expect(world.sent).toEqual([]);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
    expect(await codeOf(create('a'))).toBe(6);
  });

  test('is sent twice, and the answer of the first counts', async () => {
    const { world, create } = await faulty({ duplicate: always });
    const answers = [500, 200, 200, 500];
    world.answer = () => answers.shift() ?? 200;
    await create('a');
    await world.pass(60_000);
    expect(world.times).toEqual([0, 0, 100, 100]);
    expect(world.sent.map(({ call }) => call.headers['x-cloudtasks-taskretrycount'])).toEqual([
      '0',
      '0',
      '1',
      '1',
    ]);
  });

  test('is sent later than it says, within the bound', async () => {
    const { world, create } = await faulty({ delay: { ...always, ms: 5000 } });
    for (const id of tenIds)
      await create(id, { scheduleTime: seconds((world.epochMs - world.now) / 1000 + 60) });
    await world.pass(120_000);
    expect(world.sent).toHaveLength(10);
    expect(new Set(world.times).size).toBeGreaterThan(5);
    for (const at of world.times) {
      expect(at).toBeGreaterThan(60_000);
      expect(at).toBeLessThanOrEqual(65_000);
    }
  });

  test('is overtaken by another that is due', async () => {
    const { client, queue, world, create, ids } = await faulty({ reorder: always });
    await client.pauseQueue({ name: queue });
    for (const id of tenIds) await create(id);
    await client.resumeQueue({ name: queue });
    await world.pass(0);
    expect(ids()).not.toEqual(tenIds);
    expect(ids().sort()).toEqual(tenIds);
  });

  test('fails with the status without having been sent, as long as the switch is on', async () => {
    const { client, queue, emulator, world, create } = await faulty({ fail: { ...always, status: 503 } });
    await create('a');
    await world.pass(250);
    expect(world.sent).toEqual([]);
    const [task] = await client.getTask({ name: `${queue}/tasks/a` });
    expect(task).toMatchObject({ dispatchCount: 2, lastAttempt: { responseStatus: { code: 14 } } });
    await fetch(`${emulator.adminUrl}/faults`, { method: 'DELETE' });
    await world.pass(60_000);
    expect(world.times).toEqual([300]);
    expect(world.sent[0]?.call.headers).toMatchObject({
      'x-cloudtasks-taskretrycount': '2',
      'x-cloudtasks-taskpreviousresponse': '503',
    });
  });
});

describe('a call', () => {
  const refuse = { ...always, code: 14, methods: ['CreateTask', 'DeleteTask'] };

  test('is refused and not carried out', async () => {
    const { client, queue, create } = await faulty({ refuse: { ...refuse, carriedOut: false } });
    expect(await codeOf(create('a'))).toBe(14);
    expect((await client.listTasks({ parent: queue }))[0]).toEqual([]);
  });

  test('is refused after having been carried out', async () => {
    const { world, create, ids } = await faulty({ refuse: { ...refuse, carriedOut: true } });
    expect(await codeOf(create('a'))).toBe(14);
    await world.pass(0);
    expect(ids()).toEqual(['a']);
    expect(await codeOf(create('a'))).toBe(6);
  });
});

describe('chance', () => {
  const struckOf = (seed: number, probability = 0.3) => {
    const faults = new Faults({ lose: { probability, seed } });
    return Array.from({ length: 1000 }, (_, count) => faults.strike('lose', `task ${count}`) !== null);
  };

  test('strikes as often as it says, the same each time for the same seed, and others for another', () => {
    const count = struckOf(1).filter(Boolean).length;
    expect(count).toBeGreaterThan(250);
    expect(count).toBeLessThan(350);
    expect(struckOf(1)).toEqual(struckOf(1));
    expect(struckOf(2)).not.toEqual(struckOf(1));
    expect(struckOf(1, 0)).not.toContain(true);
    expect(struckOf(1, 1)).not.toContain(false);
  });

  test('decides about each fault independently', () => {
    const both = { probability: 0.5, seed: 1 };
    const faults = new Faults({ lose: both, duplicate: both });
    const subjects = Array.from({ length: 100 }, (_, count) => `task ${count}`);
    const lost = subjects.map((subject) => faults.strike('lose', subject) !== null);
    const doubled = subjects.map((subject) => faults.strike('duplicate', subject) !== null);
    expect(lost).not.toEqual(doubled);
    expect(faults.struck).toMatchObject({
      lose: lost.filter(Boolean).length,
      duplicate: doubled.filter(Boolean).length,
      delay: 0,
    });
  });

  test('decides the same about the same tasks in another run, in another order', async () => {
    const lostOf = async (ids: readonly string[]) => {
      const world = new TimedWorld();
      const faults = { lose: { probability: 0.5, seed: 7 } };
      const { client } = await stage({ world, faults });
      const parent = 'projects/p/locations/l';
      const queue = `${parent}/queues/same`;
      await client.createQueue({ parent, queue: { name: queue } });
      for (const id of ids) await client.createTask({ parent: queue, task: taskOf(queue, id, url) });
      await world.pass(0);
      return world.sent.map(({ id }) => id).sort();
    };
    const sent = await lostOf(tenIds);
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.length).toBeLessThan(10);
    expect(await lostOf(tenIds.toReversed())).toEqual(sent);
  });
});

test.each([
  [[], 'must be an object'],
  [{ lost: always }, 'no switch "lost"'],
  [{ lose: 1 }, 'lose: must be an object'],
  [{ lose: { seed: 1 } }, 'lose: probability must be'],
  [{ lose: { ...always, probability: 1.1 } }, 'lose: probability must be'],
  [{ lose: { ...always, probability: Number.NaN } }, 'lose: probability must be'],
  [{ lose: { ...always, seed: 0.5 } }, 'lose: seed must be'],
  [{ lose: { ...always, ms: 1 } }, 'lose: has no member "ms"'],
  [{ lose: { ...always, constructor: 1 } }, 'lose: has no member "constructor"'],
  [{ delay: always }, 'delay: ms must be'],
  [{ fail: { ...always, status: 200 } }, 'fail: status must be'],
  [{ refuse: { ...always, code: 0, carriedOut: true } }, 'refuse: code must be'],
  [{ refuse: { ...always, code: 14 } }, 'refuse: carriedOut must be'],
  [{ refuse: { ...always, code: 14, carriedOut: true, methods: 'GetTask' } }, 'refuse: methods must be'],
  [{ constructor: always }, 'no switch "constructor"'],
])('the switches %j are refused', (value, expected) => {
  expect(readFaults(value)).toContain(expected);
});
