import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { RunWatch } from './run-watch.ts';

const never = new AbortController().signal;

test('a call beyond those that may wait is answered at once', async () => {
  const world = new ManualWorld();
  const watch = new RunWatch(world);
  const read = async () => ({ value: 'running', done: false });
  const waiting = Array.from({ length: 1_000 }, (_, n) => watch.until(`run-${n}`, 1_000, never, read));
  await expect(watch.until('one-more', 1_000, never, read)).resolves.toBe('running');
  const before = world.pendingTimers;
  expect(before).toBeGreaterThan(0);
  world.advance(1_000);
  expect(await Promise.all(waiting)).toHaveLength(1_000);
  expect(world.pendingTimers).toBe(0);
});

test('a read that fails leaves nothing behind', async () => {
  const world = new ManualWorld();
  const watch = new RunWatch(world);
  const failing = () => Promise.reject(new Error('the store is away'));
  await expect(watch.until('run', 1_000, never, failing)).rejects.toThrow('the store is away');
  expect(world.pendingTimers).toBe(0);
});
