import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../../../test/support/manual-world.ts';
import { OutboxWaits, type WaitBounds } from './wake.ts';

const owner = { name: 'dispatcher', share: 1_000 };

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Calls that wait for events which a test puts into a shared list. */
class Stage {
  readonly world = new ManualWorld();
  readonly waits: OutboxWaits;
  readonly due: string[] = [];
  /** Who looked, in turn. */
  readonly looks: string[] = [];
  /** Runs once inside the next look, after it has seen what is due. */
  duringLook: (() => void) | null = null;

  /** By how much the clock is behind the timers. */
  behindMs = 0;

  constructor(bounds?: WaitBounds) {
    const clock = { now: () => this.world.now - this.behindMs };
    this.waits = new OutboxWaits({ clock, timers: this.world.timers }, bounds);
  }

  put(...events: string[]): void {
    this.due.push(...events);
    this.waits.announce('a', this.world.now);
  }

  call(name: string, { waitMs = 20_000, wanted = 1, tenantId = 'a', fails = false } = {}) {
    const controller = new AbortController();
    const answered: { found: readonly string[] | null; error?: unknown } = { found: null };
    const look = async () => {
      this.looks.push(name);
      if (fails && this.looks.length > 1) throw new Error('the look failed');
      const found = tenantId === 'a' ? this.due.splice(0, wanted) : [];
      this.duringLook?.();
      this.duringLook = null;
      await Promise.resolve();
      return found;
    };
    const wish = { tenantId, waitMs, wanted, caller: owner, signal: controller.signal };
    const done = this.waits.find(wish, look).then(
      (found) => void (answered.found = found),
      (error: unknown) => void (answered.error = error),
    );
    return { answered, done, abort: () => controller.abort() };
  }

  async pass(ms: number): Promise<void> {
    this.world.advance(ms);
    await turn();
  }
}

describe('a lease call that waits', () => {
  test('is answered as soon as an event is announced, and at once where one is due', async () => {
    const stage = new Stage();
    stage.due.push('x');
    const first = stage.call('first');
    await turn();
    expect(first.answered.found).toEqual(['x']);
    const second = stage.call('second');
    await turn();
    expect(second.answered.found).toBeNull();
    stage.put('y');
    await turn();
    expect(second.answered.found).toEqual(['y']);
    expect(stage.world.pendingTimers).toBe(0);
  });

  test('ends empty when its time is over, and not before', async () => {
    const stage = new Stage();
    const call = stage.call('c', { waitMs: 1500 });
    await turn();
    await stage.pass(1499);
    expect(call.answered.found).toBeNull();
    await stage.pass(1);
    expect(call.answered.found).toEqual([]);
    expect(stage.world.pendingTimers).toBe(0);
  });

  test('waits no longer than the bound, also if the caller asks for more', async () => {
    const stage = new Stage();
    const call = stage.call('c', { waitMs: 3_600_000 });
    await turn();
    await stage.pass(20_000);
    expect(call.answered.found).toEqual([]);
  });

  test('ends when the caller has gone, also before and during its first look, and looks no more', async () => {
    const stage = new Stage();
    const call = stage.call('c');
    await turn();
    call.abort();
    await turn();
    expect(call.answered.found).toEqual([]);
    stage.duringLook = () => queueMicrotask(() => early.abort());
    const early = stage.call('early');
    await turn();
    expect(early.answered.found).toEqual([]);
    expect(stage.looks).toEqual(['c', 'early']);
    expect(stage.world.pendingTimers).toBe(0);
  });

  test('sees at once what is committed between its look and its wait', async () => {
    const stage = new Stage();
    stage.duringLook = () => stage.put('x');
    const call = stage.call('c');
    await turn();
    expect(call.answered.found).toEqual(['x']);
    expect(stage.looks).toEqual(['c', 'c']);
  });

  test('sees what is committed during a later look as well', async () => {
    const stage = new Stage();
    const call = stage.call('c');
    await turn();
    stage.duringLook = () => stage.put('x');
    stage.waits.announce('a', stage.world.now);
    await turn();
    expect(call.answered.found).toEqual(['x']);
    expect(stage.looks).toEqual(['c', 'c', 'c']);
  });

  test('is not woken by another tenant', async () => {
    const stage = new Stage();
    stage.call('c');
    await turn();
    stage.waits.announce('b', stage.world.now);
    await turn();
    expect(stage.looks).toEqual(['c']);
  });

  test('queries again after 1, 2, 4 and 8 seconds, which finds commits of other instances', async () => {
    const stage = new Stage();
    const call = stage.call('c');
    await turn();
    const at: number[] = [];
    const begin = stage.world.now;
    for (let ms = 0; ms < 20_000; ms += 500) {
      const before = stage.looks.length;
      await stage.pass(500);
      if (stage.looks.length > before) at.push(stage.world.now - begin);
    }
    expect(at).toEqual([1000, 3000, 7000, 15_000]);
    expect(call.answered.found).toEqual([]);
  });

  test('queries when a known event becomes due, whether it was announced before or during the wait', async () => {
    const stage = new Stage();
    stage.waits.announce('a', stage.world.now + 450);
    const call = stage.call('c');
    await turn();
    stage.waits.announce('a', stage.world.now + 300);
    await stage.pass(299);
    expect(stage.looks).toHaveLength(1);
    await stage.pass(1);
    expect(stage.looks).toHaveLength(2);
    stage.due.push('x');
    await stage.pass(149);
    expect(call.answered.found).toBeNull();
    await stage.pass(1);
    expect(call.answered.found).toEqual(['x']);
  });

  test('a timer that fires before the clock says so is set again', async () => {
    const stage = new Stage();
    stage.call('c');
    await turn();
    stage.waits.announce('a', stage.world.now + 500);
    stage.behindMs = 2;
    await stage.pass(500);
    expect(stage.looks).toHaveLength(1);
    await stage.pass(2);
    expect(stage.looks).toHaveLength(2);
  });
});

describe('several calls that wait', () => {
  test('are woken one an announcement, the longest waiting first', async () => {
    const stage = new Stage();
    const calls = [stage.call('1'), stage.call('2'), stage.call('3')];
    await turn();
    stage.put('x');
    await turn();
    expect(calls.map(({ answered }) => answered.found)).toEqual([['x'], null, null]);
    // The first came back full, so the second looked for more.
    expect(stage.looks).toEqual(['1', '2', '3', '1', '2']);
    stage.put('y');
    await turn();
    expect(calls[1]?.answered.found).toEqual(['y']);
  });

  test('share many events that one announcement brings', async () => {
    const stage = new Stage();
    const calls = ['1', '2', '3'].map((name) => stage.call(name, { wanted: 2 }));
    await turn();
    stage.put('a', 'b', 'c', 'd', 'e');
    await turn();
    expect(calls.map(({ answered }) => answered.found)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  test('share the looks that find nothing', async () => {
    const stage = new Stage();
    for (let n = 0; n < 10; n++) stage.call(String(n));
    await turn();
    expect(stage.looks).toHaveLength(10);
    await stage.pass(1000);
    expect(stage.looks).toHaveLength(11);
  });

  test('the next one looks where the one that was woken is gone or fails', async () => {
    const stage = new Stage();
    const gone = stage.call('gone');
    const failing = stage.call('failing', { fails: true });
    const last = stage.call('last');
    // A first look never fails here: the failing call's was the second look.
    await failing.done;
    expect(failing.answered.error).toBeInstanceOf(Error);
    await turn();
    stage.put('x');
    gone.abort();
    await turn();
    expect(gone.answered.found).toEqual([]);
    expect(last.answered.found).toEqual(['x']);
  });

  test('a look that fails after being woken wakes the next', async () => {
    const stage = new Stage();
    const failing = stage.call('failing', { fails: true });
    await turn();
    const last = stage.call('last');
    await turn();
    stage.put('x');
    await turn();
    expect(failing.answered.error).toBeInstanceOf(Error);
    expect(last.answered.found).toEqual(['x']);
  });

  test('beyond the bounds are answered at once, and a place that is left is free again', async () => {
    const stage = new Stage({ perTenant: 2, overall: 3 });
    const first = stage.call('1');
    stage.call('2');
    const third = stage.call('3');
    const other = stage.call('b1', { tenantId: 'b' });
    const beyond = stage.call('b2', { tenantId: 'b' });
    await turn();
    expect([first, other].map(({ answered }) => answered.found)).toEqual([null, null]);
    expect([third, beyond].map(({ answered }) => answered.found)).toEqual([[], []]);
    first.abort();
    await turn();
    const fourth = stage.call('4');
    await turn();
    expect(fourth.answered.found).toBeNull();
  });

  test('leave nothing behind', async () => {
    const stage = new Stage();
    for (let n = 0; n < 20; n++) stage.call(String(n), { tenantId: `t${n}` });
    await turn();
    await stage.pass(20_000);
    expect(stage.world.pendingTimers).toBe(0);
    for (let n = 0; n < 5_000; n++) stage.waits.announce(`quiet${n}`, stage.world.now + 1000);
    expect(stage.world.pendingTimers).toBe(0);
  });
});
