import { expect, test } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { DispatchReason } from '../port.ts';
import { LocalQueue } from './local-queue.ts';

const wanted = new Set(['h']);
const still = new AbortController().signal;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** A started queue without other processes, and the times at which it settled due runs. */
async function startedQueue(settle: () => Promise<void> = () => Promise.resolve()) {
  const world = new ManualWorld();
  const queue = new LocalQueue({ world, recheckMs: 3_600_000, mayHaveChanged: () => false });
  const settled: number[] = [];
  await queue.start(async () => {
    settled.push(world.now);
    await settle();
    return { more: false, nextAt: null };
  });
  settled.length = 0;
  const message = (runId: string, reason: DispatchReason, notBefore: number, repeatKey?: string) =>
    queue.enqueue({
      runId,
      handlerId: 'h',
      reason,
      attempt: 1,
      notBefore,
      ...(repeatKey === undefined ? {} : { repeatKey }),
    });
  return { world, queue, settled, message };
}

test('a repeated message keeps the end of a lease that a worker took since', async () => {
  const { world, queue, settled, message } = await startedQueue();
  const expiresAt = world.now + 5_000;
  message('a', 'lease_expired', expiresAt);
  message('a', 'run_ready', world.now, 'the run before has ended');
  world.advance(5_000);
  await turns();
  expect(settled).toEqual([expiresAt]);
  await queue.stop();
});

test.each(['lease_expired', 'timer_due'] as const)(
  'a message of the past (%s) settles its run, which no call receives before that',
  async (reason) => {
    const { world, queue, settled, message } = await startedQueue();
    message('a', reason, world.now - 50);
    expect(queue.take(wanted)).toBeNull();
    world.advance(1);
    await turns();
    expect(settled).toHaveLength(1);
    await queue.stop();
  },
);

test('a late message about a lease that is over does not hide the run, which is queued again', async () => {
  const { world, queue, message } = await startedQueue();
  message('a', 'run_ready', world.now);
  message('a', 'lease_expired', world.now - 50);
  expect(queue.take(wanted)).toBe('a');
  await queue.stop();
});

test('after a failed settling, every searcher searches the store: its messages may be lost', async () => {
  let fails = false;
  const { world, queue, message } = await startedQueue(() =>
    fails ? Promise.reject(new Error('away')) : Promise.resolve(),
  );
  const wakes: string[] = [];
  queue.addExecutor({ handlerIds: new Set(['p']), wake: () => wakes.push('p') });
  queue.learn('h', [], true, queue.mark);
  const call = queue.enter(wanted, { waitMs: 20_000, place: { leave: () => undefined } }, still);
  const woken = call.next();
  fails = true;
  message('a', 'timer_due', world.now + 100);
  world.advance(100);
  await turns();
  expect([queue.mustSearch(wanted), wakes]).toEqual([false, []]);
  fails = false;
  // The queue tries again after a time that its backoff decides.
  for (let second = 0; second < 19 && wakes.length === 0; second += 1) {
    world.advance(1_000);
    await turns();
  }
  expect([queue.mustSearch(wanted), wakes]).toEqual([true, ['p']]);
  expect(await woken).toBe(true);
  call.leave();
  await queue.stop();
});
