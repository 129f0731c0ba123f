import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { ReadyCall } from '../port.ts';
import { LocalQueue } from './local-queue.ts';

const RECHECK_MS = 5_000;
const wanted = new Set(['h']);
const still = new AbortController().signal;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** A queue whose searches for due runs the test counts, and may delay. */
function queueOf(
  given: {
    readonly mayHaveChanged?: () => boolean;
    readonly look?: () => Promise<boolean>;
    readonly nextAt?: () => number | null;
  } = {},
) {
  const world = new ManualWorld();
  const { mayHaveChanged = () => false, look = () => Promise.resolve(false) } = given;
  const queue = new LocalQueue({ world, recheckMs: RECHECK_MS, mayHaveChanged });
  const looks: number[] = [];
  const start = () =>
    queue.start(async () => {
      looks.push(world.now);
      return { more: await look(), nextAt: given.nextAt?.() ?? null };
    });
  const message = (runId: string, notBefore: number, handlerId = 'h') =>
    queue.enqueue({ runId, handlerId, reason: 'run_ready', attempt: 0, notBefore });
  return { world, queue, looks, start, message };
}

/** A call that waits, after its first look: how often it was woken, and whether it has ended. */
function waiting(queue: LocalQueue, signal = still, handlerIds: ReadonlySet<string> = wanted) {
  const call: ReadyCall = queue.enter(
    handlerIds,
    { waitMs: 20_000, place: { leave: () => undefined } },
    signal,
  );
  const heard = { woken: 0, ended: false, taken: [] as string[] };
  void (async () => {
    while (await call.next()) {
      heard.woken += 1;
      for (let id = queue.take(handlerIds); id !== null; id = queue.take(handlerIds)) heard.taken.push(id);
    }
    heard.ended = true;
    call.leave();
  })();
  return heard;
}

describe('moments', () => {
  test('each is searched when it comes, with one timer at a time', async () => {
    const { world, queue, looks, start, message } = queueOf();
    await start();
    const begin = world.now;
    for (const [runId, after] of [
      ['a', 3_000],
      ['b', 1_000],
      ['c', 2_000],
      ['d', 1_000],
    ] as const) {
      message(runId, begin + after);
    }
    expect(world.pendingTimers).toBe(2);
    for (const after of [999, 1, 1_000, 999, 1]) {
      world.advance(after);
      await turns();
    }
    expect(looks.map((at) => at - begin)).toEqual([0, 1_000, 2_000, 3_000]);
    expect(world.pendingTimers).toBe(1);
    await queue.stop();
    expect(world.pendingTimers).toBe(0);
  });

  test('a clock that is set forward is noticed with the next recheck, and makes later moments no later', async () => {
    const world = new ManualWorld();
    let ahead = 0;
    const clock = { now: () => world.now + ahead };
    const queue = new LocalQueue({
      world: { clock, timers: world.timers, random: world.random },
      recheckMs: RECHECK_MS,
      mayHaveChanged: () => false,
    });
    let looks = 0;
    await queue.start(() => {
      looks += 1;
      return Promise.resolve({ more: false });
    });
    const message = (runId: string, notBefore: number) =>
      queue.enqueue({ runId, handlerId: 'h', reason: 'timer_due', attempt: 0, notBefore });
    message('a', clock.now() + 3_600_000);
    ahead = 7_200_000;
    message('b', clock.now() + 7_000);
    world.advance(RECHECK_MS);
    await turns();
    expect(looks).toBe(2);
    world.advance(1_999);
    await turns();
    expect(looks).toBe(2);
    world.advance(1);
    await turns();
    expect(looks).toBe(3);
    await queue.stop();
  });

  test('a later message for the run moves its time, and one for now removes it', async () => {
    const { world, looks, start, message, queue } = queueOf();
    await start();
    const begin = world.now;
    message('a', begin + 1_000);
    message('a', begin + 4_000);
    message('b', begin + 1_500);
    message('b', begin);
    message('c', begin + 2_000);
    queue.forget('c');
    for (let turn = 0; turn < 16; turn += 1) {
      world.advance(250);
      await turns();
    }
    expect(looks.map((at) => at - begin)).toEqual([0, 4_000]);
    await queue.stop();
  });

  test('a run that becomes due during a search is searched for after it', async () => {
    let release = (): void => undefined;
    let hold = false;
    const look = () => {
      if (!hold) return Promise.resolve(false);
      return new Promise<boolean>((resolve) => {
        release = () => resolve(false);
      });
    };
    const { world, looks, start, message, queue } = queueOf({ look });
    await start();
    const begin = world.now;
    hold = true;
    message('a', begin + 100);
    world.advance(100);
    await turns();
    expect(looks).toHaveLength(2);
    message('b', begin + 200);
    world.advance(100);
    message('c', begin + 300);
    world.advance(100);
    await turns();
    expect(looks).toHaveLength(2);
    hold = false;
    release();
    await turns();
    expect(looks.slice(2)).toEqual([begin + 300]);
    await queue.stop();
  });

  test('a search that reports more is followed by another, and a failed one by a later one', async () => {
    const answers = [true, true, false, 'fails', 'fails', false];
    const look = () => {
      const answer = answers.shift() ?? false;
      return typeof answer === 'string' ? Promise.reject(new Error(answer)) : Promise.resolve(answer);
    };
    const { world, looks, start, message, queue } = queueOf({ look });
    await start();
    expect(looks).toHaveLength(3);
    const begin = world.now;
    message('a', begin + 100);
    for (let after = 0; after < 4_000; after += 50) {
      world.advance(50);
      await turns();
    }
    const [first = 0, second = 0, third = 0, ...more] = looks.slice(3).map((at) => at - begin);
    expect([first, more]).toEqual([100, []]);
    // A part of one second, and then of two.
    expect(second - first).toBeGreaterThan(500);
    expect(second - first).toBeLessThanOrEqual(1_000);
    expect(third - second).toBeGreaterThan(1_000);
    expect(third - second).toBeLessThanOrEqual(2_000);
    await queue.stop();
  });

  test('a time beyond the limit of a timer is kept', async () => {
    const { world, looks, start, message, queue } = queueOf();
    await start();
    const begin = world.now;
    const far = 40 * 86_400_000;
    message('a', begin + far);
    for (let days = 0; days < 39; days += 1) {
      world.advance(86_400_000);
      await turns();
    }
    expect(looks).toHaveLength(1);
    world.advance(86_400_000);
    await turns();
    expect(looks.map((at) => at - begin)).toEqual([0, far]);
    await queue.stop();
  });
});

describe('moments of the store', () => {
  test('the next due time that a search reports is searched, and then forgotten', async () => {
    const stored: (number | null)[] = [];
    const { world, looks, start, message, queue } = queueOf({ nextAt: () => stored.shift() ?? null });
    const begin = world.now;
    stored.push(begin + 3_000, begin + 3_000, begin + 7_000);
    await start();
    message('a', begin + 1_000);
    for (let turn = 0; turn < 40; turn += 1) {
      world.advance(250);
      await turns();
    }
    expect(looks.map((at) => at - begin)).toEqual([0, 1_000, 3_000, 7_000]);
    expect(world.pendingTimers).toBe(1);
    await queue.stop();
  });
});

describe('calls that wait', () => {
  test('one message wakes one call, the one that has waited longest', async () => {
    const { queue, message, world } = queueOf();
    const calls = [waiting(queue), waiting(queue), waiting(queue)];
    const other = waiting(queue, still, new Set(['other']));
    await turns();
    message('1', world.now);
    await turns();
    expect(calls.map(({ woken }) => woken)).toEqual([1, 0, 0]);
    expect(calls[0]?.taken).toEqual(['1']);
    message('2', world.now);
    message('3', world.now);
    await turns();
    expect(calls.flatMap(({ taken }) => taken).toSorted()).toEqual(['1', '2', '3']);
    expect(other).toMatchObject({ woken: 0, taken: [] });
  });

  test('a wake-up is never lost, in any order of messages, searches, aborts and ends', async () => {
    // Every order of: two messages, the abort of the longest waiting call, and turns of the loop between them.
    const acts = ['message', 'message', 'abort', 'turn', 'turn'];
    for (const order of permutations(acts)) {
      const { queue, message, world } = queueOf();
      const gone = new AbortController();
      const calls = [waiting(queue, gone.signal), waiting(queue)];
      await turns();
      let sent = 0;
      for (const act of order) {
        if (act === 'abort') gone.abort();
        else if (act === 'turn') await Promise.resolve();
        else {
          sent += 1;
          message(String(sent), world.now);
        }
      }
      await turns();
      expect(calls.flatMap(({ taken }) => taken).toSorted(), order.join(' ')).toEqual(['1', '2']);
    }
  });

  test('a message before or during the first search of a call is not missed', async () => {
    const { queue, message, world } = queueOf();
    const call = queue.enter(wanted, { waitMs: 20_000, place: { leave: () => undefined } }, still);
    expect(queue.take(wanted)).toBeNull();
    message('1', world.now);
    expect(await call.next()).toBe(true);
    expect(queue.take(wanted)).toBe('1');
    message('2', world.now);
    const other = waiting(queue);
    await turns();
    // The call leaves with its run: another call searches in its place.
    call.leave();
    await turns();
    expect(other.taken).toEqual(['2']);
  });

  test('a call ends with its time, its caller or the queue', async () => {
    const { queue, world } = queueOf();
    const first = waiting(queue);
    world.advance(19_999);
    await turns();
    expect(first.ended).toBe(false);
    world.advance(1);
    await turns();
    expect(first.ended).toBe(true);
    const gone = new AbortController();
    const second = waiting(queue, gone.signal);
    const third = waiting(queue);
    gone.abort();
    await turns();
    expect([second.ended, third.ended]).toEqual([true, false]);
    await queue.stop();
    await turns();
    expect(third.ended).toBe(true);
    const late = waiting(queue);
    await turns();
    expect(late.ended).toBe(true);
    expect(world.pendingTimers).toBe(0);
  });

  test('a run that one call cannot take is offered to each later call, and then to none', async () => {
    const { queue, message, world } = queueOf();
    queue.learn('h', [], true, queue.mark);
    const seen: number[] = [];
    const calls = [0, 1, 2].map((index) => {
      const call = queue.enter(wanted, { waitMs: 20_000, place: { leave: () => undefined } }, still);
      void (async () => {
        while (await call.next()) {
          const runId = queue.take(wanted);
          if (runId === null) continue;
          seen.push(index);
          call.passOn('h', runId);
        }
      })();
      return call;
    });
    await turns();
    message('1', world.now);
    await turns();
    expect(seen).toEqual([0, 1, 2]);
    expect(queue.mustSearch(wanted)).toBe(true);
    for (const call of calls) call.leave();
    await queue.stop();
  });
});

describe('rechecks', () => {
  test('the queue searches for changes of other processes alone', async () => {
    let changed = false;
    const { queue, world, looks, start } = queueOf({ mayHaveChanged: () => changed });
    let wakes = 0;
    queue.addExecutor({
      handlerIds: new Set(['p']),
      wake: () => {
        wakes += 1;
      },
    });
    await start();
    queue.learn('h', [], true, queue.mark);
    const call = waiting(queue);
    await turns();
    world.advance(2 * RECHECK_MS);
    await turns();
    expect([looks.length, wakes, call.woken, queue.mustSearch(wanted)]).toEqual([1, 0, 0, false]);
    changed = true;
    world.advance(RECHECK_MS);
    await turns();
    expect([looks.length, wakes, call.woken, queue.mustSearch(wanted)]).toEqual([2, 1, 1, true]);
    await queue.stop();
  });

  test('a message goes to the executor of its handler, and to the calls of the others', async () => {
    const { queue, world, message } = queueOf();
    let wakes = 0;
    queue.addExecutor({
      handlerIds: new Set(['p']),
      wake: () => {
        wakes += 1;
      },
    });
    const call = waiting(queue, still, new Set(['h', 'p']));
    await turns();
    message('1', world.now, 'p');
    await turns();
    expect([wakes, call.woken]).toEqual([1, 0]);
    message('2', world.now, 'h');
    await turns();
    expect([wakes, call.woken]).toEqual([1, 1]);
    await queue.stop();
  });
});

function permutations(items: readonly string[]): string[][] {
  if (items.length <= 1) return [[...items]];
  const found = new Map<string, string[]>();
  for (const [index, item] of items.entries()) {
    for (const rest of permutations([...items.slice(0, index), ...items.slice(index + 1)])) {
      const order = [item, ...rest];
      found.set(order.join(), order);
    }
  }
  return [...found.values()];
}

test('a look that began before a doubt does not end it', () => {
  const { queue } = queueOf();
  const { mark } = queue;
  queue.markIncomplete(['h']);
  queue.learn('h', [], true, mark);
  expect(queue.mustSearch(['h'])).toBe(true);
  queue.learn('h', [], true, queue.mark);
  expect(queue.mustSearch(['h'])).toBe(false);
});
