import { expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { RunWatch } from './run-watch.ts';

const signal = new AbortController().signal;
const waitMs = 1_000;
/** A read of a run under way, by callers of different owners unless a name is given. */
const running = (name: string, share = 1) => {
  return async () => ({ value: 'running', done: false, owners: [{ name, share }] as const });
};

test('a call without a waiting place is answered at once', async () => {
  const world = new ManualWorld();
  const watch = new RunWatch(world);
  const most = limits.executionRunWaitingCallsMax;
  const waiting = Array.from({ length: most }, (_, n) =>
    watch.until({ runId: `run-${n}`, waitMs, signal }, running(`caller-${n}`)),
  );
  await expect(watch.until({ runId: 'one', waitMs, signal }, running('one more'))).resolves.toBe('running');
  const before = world.pendingTimers;
  expect(before).toBeGreaterThan(0);
  world.advance(waitMs);
  expect(await Promise.all(waiting)).toHaveLength(most);
  expect(world.pendingTimers).toBe(0);
});

test('an owner that has used up its share is answered at once, and another one waits', async () => {
  const world = new ManualWorld();
  const watch = new RunWatch(world);
  const call = (name: string) => watch.until({ runId: 'run', waitMs, signal }, running(name, 2));
  const waiting = [call('a'), call('a')];
  await expect(call('a')).resolves.toBe('running');
  const timers = world.pendingTimers;
  waiting.push(call('b'));
  await Promise.resolve();
  expect(world.pendingTimers).toBeGreaterThan(timers);
  world.advance(waitMs);
  await Promise.all(waiting);
  const again = call('a');
  await Promise.resolve();
  expect(world.pendingTimers).toBeGreaterThan(0);
  world.advance(waitMs);
  await again;
});

test('a read that fails leaves nothing behind', async () => {
  const world = new ManualWorld();
  const watch = new RunWatch(world);
  const failing = () => Promise.reject(new Error('the store is away'));
  await expect(watch.until({ runId: 'run', waitMs, signal }, failing)).rejects.toThrow('the store is away');
  expect(world.pendingTimers).toBe(0);
});
