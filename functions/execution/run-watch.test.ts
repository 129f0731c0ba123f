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
