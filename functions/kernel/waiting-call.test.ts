import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { WaitingCall } from './waiting-call.ts';

const never = new AbortController().signal;
const place = { leave: () => undefined };

test('a waiting call looks again when it is woken, and stops when its time is over', async () => {
  const world = new ManualWorld();
  const call = new WaitingCall(world.timers, 1_000, never, place);
  const woken = call.next();
  expect(call.wakeIfIdle()).toBe(true);
  expect(call.owesLook).toBe(true);
  await expect(woken).resolves.toBe(true);
  expect(call.owesLook).toBe(false);
  const expired = call.next();
  world.advance(1_000);
  await expect(expired).resolves.toBe(false);
});

test('a wake during a look makes the call look once more', async () => {
  const call = new WaitingCall(new ManualWorld().timers, 1_000, never, place);
  expect(call.wakeIfIdle()).toBe(false);
  expect(call.owesLook).toBe(false);
  expect(call.lookAgain()).toBe(false);
  await expect(call.next()).resolves.toBe(true);
});

test('a call ends when its caller leaves, and leaves no timer behind', async () => {
  const world = new ManualWorld();
  const caller = new AbortController();
  const call = new WaitingCall(world.timers, 1_000, caller.signal, place);
  const left = call.next();
  caller.abort();
  await expect(left).resolves.toBe(false);
  call.close();
  expect(world.pendingTimers).toBe(0);
});

test('a call that may not wait never waits', async () => {
  const world = new ManualWorld();
  await expect(new WaitingCall(world.timers, 0, never, place).next()).resolves.toBe(false);
  expect(world.pendingTimers).toBe(0);
});

test('a call without a place never waits, and one with a place leaves it', async () => {
  const world = new ManualWorld();
  await expect(new WaitingCall(world.timers, 1_000, never, null).next()).resolves.toBe(false);
  expect(world.pendingTimers).toBe(0);
  let left = 0;
  const leave = () => void (left += 1);
  new WaitingCall(world.timers, 1_000, never, { leave }).close();
  expect(left).toBe(1);
});
