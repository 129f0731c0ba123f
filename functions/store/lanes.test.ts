import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { ScopeLanes } from './lanes.ts';

const waitMaxMs = 1_000;
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function lanesOf(width: number) {
  const world = new ManualWorld();
  const lanes = new ScopeLanes({ width, timers: world.timers, waitMaxMs });
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string, label: string) => {
    const call = lanes.run(name, () => {
      started.push(label);
      return new Promise<string>((resolve) => ends.push(() => resolve(label)));
    });
    call.catch(() => undefined);
    return call;
  };
  return { world, started, ends, run };
}

test('calls of one name run in turn, as many at once as the lane is wide; calls of other names do not wait', async () => {
  const { world, started, ends, run } = lanesOf(2);
  const calls = ['a1', 'a2', 'a3', 'a4'].map((label) => run('a', label));
  const other = run('b', 'b1');
  await settled();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  ends[1]?.();
  await settled();
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  ends[0]?.();
  await settled();
  for (const end of ends) end();
  expect(await Promise.all([...calls, other])).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  expect(world.pendingTimers).toBe(0);
});

test('a call whose turn does not come in time fails, and its place is freed', async () => {
  const { world, started, ends, run } = lanesOf(1);
  const first = run('a', 'a1');
  const second = run('a', 'a2');
  await settled();
  world.advance(waitMaxMs - 1);
  const third = run('a', 'a3');
  await settled();
  world.advance(1);
  await expect(second).rejects.toMatchObject({ name: 'StoreError', failure: 'contention' });
  ends[0]?.();
  expect(await first).toBe('a1');
  await settled();
  ends[1]?.();
  expect(await third).toBe('a3');
  expect(started).toEqual(['a1', 'a3']);
});
