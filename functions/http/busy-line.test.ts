import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createBusyLine } from './busy-line.ts';
import { createRateLimiter } from './rate-limit.ts';

const never = new AbortController().signal;
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Turns of the event loop come when the test asks for one. */
function manualTurns({ clock } = new ManualWorld()) {
  let callbacks: (() => void)[] = [];
  const line = createBusyLine(clock, (callback) => callbacks.push(callback));
  const turn = async () => {
    const now = callbacks;
    callbacks = [];
    for (const callback of now) callback();
    await settled();
  };
  return { line, turn };
}

function limiterOf(permitLimit: number) {
  const world = new ManualWorld();
  const { line, turn } = manualTurns(world);
  const settings = { permitLimit, windowSeconds: 60, queueLimit: 0 };
  const limiter = createRateLimiter('execution', settings, {
    clock: world.clock,
    timers: world.timers,
    line,
  });
  const started: string[] = [];
  const ask = async (address: string, times = 1) => {
    for (let n = 0; n < times; n++)
      void limiter.acquire(address, never, () => {}).then(() => started.push(address));
    await settled();
  };
  return { world, limiter, line, turn, ask, takeStarted: () => started.splice(0) };
}

test('one request starts in each turn, in the order of arrival', async () => {
  const { line, turn } = manualTurns();
  const started: number[] = [];
  for (const n of [1, 2, 3]) void line.turn().then(() => started.push(n));
  await settled();
  expect([started, line.waiting]).toEqual([[], 3]);
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await turn();
    expect(started).toEqual(expected);
  }
  await turn();
  void line.turn().then(() => started.push(4));
  await turn();
  expect([started, line.waiting]).toEqual([[1, 2, 3, 4], 0]);
});

test('where turns are long, a request waits for 250 ms at most', async () => {
  const world = new ManualWorld();
  const { line, turn } = manualTurns(world);
  const started: number[] = [];
  const ask = (n: number) => void line.turn().then(() => started.push(n));
  for (const n of [1, 2, 3]) ask(n);
  world.advance(200);
  for (const n of [4, 5]) ask(n);
  world.advance(50);
  await turn();
  expect(started).toEqual([1, 2, 3]);
  await turn();
  expect(started).toEqual([1, 2, 3, 4]);
});

test('addresses that spend an eighth of their window at once wait in one line, others do not', async () => {
  const { turn, ask, takeStarted } = limiterOf(80);
  await ask('a', 12);
  await ask('b', 11);
  expect(takeStarted()).toEqual([...Array(10).fill('a'), ...Array(10).fill('b')]);
  await ask('reader', 10);
  expect(takeStarted()).toEqual(Array(10).fill('reader'));
  for (const expected of [['a'], ['a'], ['b'], []]) {
    await turn();
    expect(takeStarted()).toEqual(expected);
  }
});

test('an address that asks as often as its window gives permits never waits', async () => {
  const { world, ask, line, takeStarted } = limiterOf(120);
  for (let n = 0; n < 120; n++) {
    await ask('a');
    world.advance(500);
  }
  expect([takeStarted().length, line.waiting]).toEqual([120, 0]);
});

test('permits that a request takes beside its first count', async () => {
  const { limiter, ask, line, takeStarted } = limiterOf(80);
  await ask('a');
  limiter.charge('a', 9);
  await ask('a');
  expect([takeStarted(), line.waiting]).toEqual([['a'], 1]);
});
