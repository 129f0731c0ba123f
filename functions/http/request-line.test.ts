import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { LogEvent } from '../kernel/log.ts';
import type { RequestLoad, Slot } from './class-line.ts';
import { RequestLine } from './request-line.ts';

const usual: RequestLoad = { loadClass: 'usual', mayWait: false };
const overloaded = expect.objectContaining({ code: 'overloaded' });

/** A line whose event loop the test turns. */
function stage(most = 8) {
  const world = new ManualWorld();
  const lines: LogEvent[] = [];
  const turns: (() => void)[] = [];
  const line = new RequestLine(
    world,
    (event) => lines.push(event),
    most,
    (callback) => turns.push(callback),
  );
  const started: string[] = [];
  const refused: string[] = [];
  const slots = new Map<string, Slot>();
  const enter = (name: string, load = usual, source = 'a', signal = new AbortController().signal) => {
    const started0 = (slot: Slot): void => {
      started.push(name);
      slots.set(name, slot);
      if (!name.startsWith('slow')) slot.received();
    };
    const entered = line.enter({ ...load, source, signal });
    if (!(entered instanceof Promise)) {
      started0(entered);
      return Promise.resolve();
    }
    return entered.then(started0, (error: unknown) => {
      expect(error).toEqual(overloaded);
      refused.push(name);
    });
  };
  const turn = async () => {
    for (const callback of turns.splice(0)) callback();
    // Runs all work that needs no further turn.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { world, line, lines, enter, turn, started, refused, slots };
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe('places at work', () => {
  test('requests start at once up to the limit, and one more when one ends', async () => {
    const { line, enter, turn, started, slots } = stage(8);
    for (const name of named('', 4)) void enter(name, usual, 'a');
    for (const name of named('b', 5)) void enter(name, usual, 'b');
    await turn();
    expect([started.length, line.waiting]).toEqual([8, 1]);
    slots.get('0')?.leave();
    slots.get('0')?.leave();
    await turn();
    expect([started.length, line.waiting]).toEqual([9, 0]);
  });

  test('one source has three quarters of the places, and the others the rest', async () => {
    const { enter, turn, started } = stage(8);
    for (const name of named('a', 20)) void enter(name, usual, 'a');
    for (const name of named('b', 20)) void enter(name, usual, 'b');
    await turn();
    expect(started.filter((name) => name.startsWith('a'))).toHaveLength(6);
    expect(started.filter((name) => name.startsWith('b'))).toHaveLength(2);
  });

  test('a request that waits for its body or for an event gives its place to another', async () => {
    const { world, line, enter, turn, started, slots } = stage(8);
    for (const name of named('slow', 6)) void enter(name, usual, 'a');
    for (const name of named('worker', 2)) void enter(name, { loadClass: 'usual', mayWait: true }, 'b');
    slots.get('slow0')?.received();
    for (const name of named('next', 10)) void enter(name, usual, 'c');
    await turn();
    expect(started).toHaveLength(8);
    world.advance(300);
    await turn();
    // Seven of the eight only wait; the sixth of the others finds the share of its source taken.
    expect(started).toHaveLength(8 + 6);
    // A request enters the line again after its body, and one that already had its body keeps its place.
    expect([slots.get('slow1')?.received(), slots.get('slow0')?.received()]).toEqual([true, false]);
    slots.get('next0')?.leave();
    await turn();
    expect([started.length, line.waiting]).toEqual([8 + 6 + 1, 3]);
  });

  test('waiting calls leave their places at once, and an idle process refuses none', async () => {
    const { world, enter, turn, started, refused, slots } = stage(8);
    for (const name of named('call', 1_000)) {
      void enter(name, { loadClass: 'usual', mayWait: true });
      await turn();
      slots.get(name)?.aside();
      if (started.length % 100 === 0) world.advance(100);
    }
    expect([started.length, refused.length]).toEqual([1_000, 0]);
  });

  test('without a free place, a new request takes over the place of a call that waits for long', async () => {
    const { world, enter, turn, started } = stage(8);
    for (const name of named('call', 6)) void enter(name, { loadClass: 'usual', mayWait: true });
    await turn();
    world.now += 250;
    void enter('next');
    expect(started.at(-1)).toBe('next');
  });

  test('a lease has a place although its address has its share', async () => {
    const { enter, started } = stage(8);
    for (const name of named('a', 6)) void enter(name);
    void enter('heartbeat', { loadClass: 'lease', mayWait: false });
    expect(started.at(-1)).toBe('heartbeat');
  });

  test('a clock that was set back keeps no place', async () => {
    const { world, enter, turn, started } = stage(8);
    for (const name of named('call', 6)) void enter(name, { loadClass: 'usual', mayWait: true });
    await turn();
    world.now -= 3_600_000;
    void enter('next');
    expect(started.at(-1)).toBe('next');
  });
});

describe('the turn of the event loop', () => {
  test('requests start for 20 ms, and then the others wait until the loop has polled for new ones', async () => {
    const { world, enter, turn, started } = stage(1_000);
    void enter('first');
    world.now += 20;
    void enter('second');
    expect(started).toEqual(['first']);
    await turn();
    expect(started).toEqual(['first', 'second']);
  });

  test('a clock that was set back lets them start in the next turn', async () => {
    const { world, enter, turn, started } = stage(1_000);
    void enter('first');
    world.now -= 3_600_000;
    void enter('second');
    await turn();
    expect(started).toEqual(['first', 'second']);
  });
});

describe('the order of the line', () => {
  test('of three classes that wait, leases start most often and none is starved', async () => {
    const { enter, turn, started, slots } = stage(8);
    for (const name of named('busy', 6)) void enter(name, usual, 'x');
    for (const name of named('busy', 2)) void enter(`${name}y`, usual, 'y');
    for (const name of named('lease', 26)) void enter(name, { loadClass: 'lease', mayWait: false });
    for (const name of named('usual', 26)) void enter(name);
    for (const name of named('bulk', 26)) void enter(name, { loadClass: 'bulk', mayWait: false });
    await turn();
    const served: string[] = [];
    for (let n = 0; n < 26; n++) {
      const [name = '', slot] = [...slots].at(-1) ?? [];
      slot?.leave();
      slots.delete(name);
      await turn();
      served.push(started.at(-1) ?? '');
    }
    const share = (prefix: string) => served.filter((name) => name.startsWith(prefix)).length;
    expect([share('lease'), share('usual'), share('bulk')]).toEqual([16, 8, 2]);
    expect(served[0]).toBe('lease0');
  });

  test('sources take turns, so one with few requests does not wait behind another', async () => {
    const { enter, turn, started, slots } = stage(8);
    for (const name of named('busy', 6)) void enter(name, usual, 'x');
    for (const name of named('other', 2)) void enter(name, usual, 'y');
    for (const name of named('many', 30)) void enter(name, usual, 'a');
    void enter('few', usual, 'b');
    for (const name of named('busy', 2)) slots.get(name)?.leave();
    await turn();
    expect(started.slice(-2)).toEqual(['many0', 'few']);
  });
});

describe('refusals', () => {
  /** Eight at work, `count` of source `a` in the line, and a line that starts one in each tick. */
  async function standing(count: number) {
    const all = stage(8);
    const { world, enter, turn, slots } = all;
    for (const name of named('busy', 8)) void enter(name, usual, name);
    for (const name of named('waits', count)) void enter(name);
    await turn();
    slots.get('busy0')?.leave();
    await turn();
    world.advance(300);
    await turn();
    return all;
  }

  test('a request that would wait too long is refused at once, with a random time for the retry', async () => {
    const { world, line, enter, turn, refused, lines } = await standing(40);
    void enter('late');
    await turn();
    expect(refused).toEqual(['late']);
    const seconds = named('', 10).map(() => line.refusalFor('usual', 'a')?.extensions.retryAfterSeconds);
    expect(new Set(seconds)).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(lines).toEqual([
      {
        severity: 'WARNING',
        message: 'Requests are refused: the service has more than it can answer in time',
        code: 'overloaded',
      },
    ]);
    world.advance(20_000);
    await turn();
    void enter('later');
    expect(lines.at(-1)).toMatchObject({
      message: 'No request is refused any more',
      // The requests that waited grew too old.
      count: 1 + 10 + 39,
    });
  });

  test('a source without a request in the line is not refused for those of another', async () => {
    const { line } = await standing(60);
    expect(line.refusalFor('usual', 'a')).toEqual(overloaded);
    expect(line.refusalFor('usual', 'b')).toBeNull();
    expect(['a', 'b'].map((source) => line.isFull('usual', source))).toEqual([true, false]);
  });

  test('a standing line keeps no request for longer than its class allows', async () => {
    const { world, enter, turn, refused } = await standing(10);
    world.advance(1_000);
    await turn();
    expect(refused).toEqual([]);
    world.advance(300);
    await turn();
    expect(refused).toHaveLength(9);
    for (const name of named('next', 5)) void enter(name);
    world.advance(1_600);
    await turn();
    expect(refused).toHaveLength(14);
  });

  test('without a known number of starts, the line is bounded all the same', async () => {
    const { enter, turn, refused, line } = stage(8);
    for (const name of named('a', 3_000)) void enter(name, usual, 'a');
    await turn();
    expect(line.waiting).toBe(2_048);
    expect(refused).toHaveLength(3_000 - 6 - 2_048);
    void enter('other', usual, 'b');
    await turn();
    expect(refused).not.toContain('other');
  });

  test('many sources with one request each are bounded and refused as one is', async () => {
    const { world, enter, turn, refused, line } = stage(8);
    for (const name of named('busy', 8)) void enter(name, usual, name);
    for (const name of named('a', 3_000)) void enter(name, usual, name);
    await turn();
    expect([line.waiting, refused.length]).toEqual([2_048, 3_000 - 2_048]);
    world.advance(300);
    expect(line.refusalFor('usual', 'one more')).toEqual(overloaded);
  });

  test('the refusal of a worker names the shortest time for the retry', async () => {
    const { world, enter, turn, line } = stage(8);
    for (const name of named('busy', 8)) void enter(name, usual, name);
    for (const name of named('lease', 40)) void enter(name, { loadClass: 'lease', mayWait: false });
    await turn();
    world.advance(300);
    const seconds = named('', 10).map(() => line.refusalFor('lease', 'a')?.extensions.retryAfterSeconds);
    expect(new Set(seconds)).toEqual(new Set([1]));
  });

  test('the request of a client that has gone is not executed', async () => {
    const { enter, turn, started, refused, slots, line, lines } = stage(8);
    for (const name of named('busy', 8)) void enter(name, usual, name);
    const client = new AbortController();
    void enter('gone', usual, 'a', client.signal);
    void enter('stays', usual, 'a');
    client.abort();
    void enter('late', usual, 'a', client.signal);
    expect(line.waiting).toBe(1);
    slots.get('busy0')?.leave();
    await turn();
    expect(started.at(-1)).toBe('stays');
    expect(refused.toSorted()).toEqual(['gone', 'late']);
    // Requests that leave or grow old are no overload.
    expect(lines).toEqual([]);
  });
});
