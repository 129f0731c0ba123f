import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import { LocalQueue } from './local-queue.ts';

const wanted = new Set(['h']);

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** A queue that never polls, and the handlers whose runs it passed on to other processes. */
async function startedQueue() {
  const world = new ManualWorld();
  const passedOn: string[] = [];
  const unclaimed = (handlerId: string) => void passedOn.push(handlerId);
  const options = { world, recheckMs: 3_600_000, mayHaveChanged: () => false, unclaimed };
  const queue = new LocalQueue(options);
  let settled = 0;
  await queue.start(() => {
    settled += 1;
    return Promise.resolve({ more: false, nextAt: null });
  });
  const message = (runId: string, notBefore: number, handlerId = 'h') =>
    queue.enqueue({ runId, handlerId, reason: 'run_ready', attempt: 0, notBefore });
  return { world, queue, passedOn, message, settled: () => settled };
}

/** A call that waits: how often it was woken, and the runs that it took. */
function waiting(queue: LocalQueue) {
  const call = queue.enter(
    wanted,
    { waitMs: 20_000, place: { leave: () => undefined } },
    new AbortController().signal,
  );
  const seen = { woken: 0, taken: [] as string[] };
  void (async () => {
    while (await call.next()) {
      seen.woken += 1;
      for (let id = queue.take(wanted); id !== null; id = queue.take(wanted)) seen.taken.push(id);
    }
    call.leave();
  })();
  return seen;
}

describe('several processes', () => {
  test('a ready run is passed on only where no call waits for it here', async () => {
    const { world, queue, passedOn, message } = await startedQueue();
    message('a', world.now);
    expect(passedOn).toEqual(['h']);
    queue.take(wanted);
    const call = waiting(queue);
    await turns();
    message('b', world.now);
    message('c', world.now + 1_000);
    expect(passedOn).toEqual(['h']);
    await turns();
    expect(call.taken).toEqual(['b']);
    // An executor may have no free slot.
    queue.addExecutor({ handlerIds: new Set(['p']), wake: () => undefined });
    message('d', world.now, 'p');
    expect(passedOn).toEqual(['h', 'p']);
    await queue.stop();
  });

  test('a notice of some runs wakes as many calls, those that have waited longest, and is not passed on', async () => {
    const { queue, passedOn } = await startedQueue();
    const calls = [waiting(queue), waiting(queue), waiting(queue)];
    await turns();
    queue.hint('h', 2);
    await turns();
    expect(calls.map(({ woken }) => woken)).toEqual([1, 1, 0]);
    queue.hint('h', 1_000_000);
    await turns();
    expect(calls.map(({ woken }) => woken)).toEqual([2, 2, 1]);
    expect([queue.mustSearch(wanted), passedOn]).toEqual([true, []]);
    await queue.stop();
  });

  test('where notices may be missing, due runs are settled and every call searches', async () => {
    const { queue, settled } = await startedQueue();
    queue.learn('h', [], true, queue.mark);
    const calls = [waiting(queue), waiting(queue)];
    await turns();
    queue.recheck();
    await turns();
    expect([settled(), queue.mustSearch(wanted), ...calls.map(({ woken }) => woken)]).toEqual([
      2,
      true,
      1,
      1,
    ]);
    await queue.stop();
    queue.recheck();
    expect(settled()).toBe(2);
  });
});
