import { describe, expect, test } from 'vitest';
import { Dispatcher } from './dispatcher.ts';
import { anEvent, Stage, transient, turn } from './stage.fixture.ts';

/** A stop in progress, and whether it has ended. */
function stopping(stage: Stage) {
  const state = { ended: false };
  void stage.dispatcher.stop().then(() => {
    state.ended = true;
  });
  return state;
}

describe('stop', () => {
  test('ends at once where nothing is held, also before a start and while leasing fails, and leases no more', async () => {
    await new Stage().dispatcher.stop();
    const waiting = await Stage.started();
    await waiting.dispatcher.stop();
    const failing = new Stage();
    failing.outbox.faults.lease.push(transient(60_000));
    failing.dispatcher.start();
    await turn();
    await failing.dispatcher.stop();
    for (const stage of [waiting, failing]) {
      stage.dispatcher.start();
      await stage.pass(120_000, 10_000);
      expect(stage.outbox.of('lease')).toHaveLength(1);
      expect(stage.world.pendingTimers).toBe(0);
    }
    expect(waiting.errors).toEqual([]);
  });

  test('lets handlers end, renews meanwhile, and gives back at once what was not begun', async () => {
    const stage = await Stage.started({ graceSeconds: 60 });
    const key = { key: 'k' };
    await stage.outbox.give(
      anEvent('a', key),
      anEvent('b', { ...key, lastError: 'before' }),
      anEvent('c', key),
    );
    const stop = stopping(stage);
    await turn();
    expect(stage.outbox.of('release')).toEqual([
      'release b 0.001 before',
      'release c 0.001 the dispatcher stopped before it began',
    ]);
    await stage.pass(30_000);
    expect(stop.ended).toBe(false);
    expect(stage.outbox.of('renew')).toEqual(['renew a', 'renew a', 'renew a']);
    await stage.handler.end('a');
    expect(stage.outbox.of('acknowledge')).toEqual(['acknowledge a']);
    expect(stop.ended).toBe(true);
    expect(stage.handler.begun).toEqual(['a']);
    expect(stage.types()).toEqual(['returned', 'returned', 'delivered']);
    expect(stage.world.pendingTimers).toBe(0);
  });

  test('aborts what is still under way after the grace, and gives it back', async () => {
    const stage = await Stage.started({ graceSeconds: 5 });
    await stage.outbox.give(anEvent('a'));
    const stop = stopping(stage);
    await stage.pass(4500);
    expect(stage.handler.aborted).toEqual({});
    await stage.pass(500);
    expect(stage.handler.aborted).toEqual({ a: 'stopping' });
    expect(stage.outbox.of('release')).toEqual([
      'release a 0.001 the dispatcher stopped before the handler had ended',
    ]);
    expect(stop.ended).toBe(true);
  });

  test('ends in time also where a handler and the service hang', async () => {
    const stage = await Stage.started({ graceSeconds: 5, abortGraceSeconds: 2 });
    stage.handler.obeys = false;
    await stage.outbox.give(anEvent('a'), anEvent('b', { key: 'a' }), anEvent('c'));
    stage.outbox.faults.release.push('hang', 'hang', 'hang');
    const stop = stopping(stage);
    await stage.pass(9_500);
    expect(stop.ended).toBe(false);
    await stage.pass(500);
    expect(stop.ended).toBe(true);
    expect(stage.outbox.of('release').map((call) => call.slice(0, 9))).toEqual([
      'release b',
      'release a',
      'release c',
    ]);
    expect(stage.world.pendingTimers).toBe(0);
  });

  test('gives back what a lease call brings that was under way', async () => {
    const stage = await Stage.started();
    stage.outbox.deaf = true;
    await stage.outbox.give(anEvent('a'));
    await turn();
    const stop = stopping(stage);
    await stage.outbox.give(anEvent('b'), anEvent('c'));
    expect(stage.outbox.of('release').map((call) => call.slice(0, 9))).toEqual(['release b', 'release c']);
    expect(stage.handler.begun).toEqual(['a']);
    await stage.handler.end('a');
    expect(stop.ended).toBe(true);
  });

  test.each([0, 1, 2, 3, 4, 5, 6])(
    'gives back once what a lease call brings in the very moment of the stop (%d steps before)',
    async (steps) => {
      const stage = await Stage.started();
      stage.outbox.deaf = true;
      await stage.outbox.give(anEvent('a'));
      void stage.outbox.answerer()(anEvent('b'));
      for (let step = 0; step < steps; step++) await Promise.resolve();
      const stop = stopping(stage);
      await turn();
      await stage.handler.end('a');
      const begun = stage.handler.begun.includes('b');
      if (begun) await stage.handler.end('b');
      expect(stage.outbox.of('release b')).toHaveLength(begun ? 0 : 1);
      expect(stage.dispatcher.held).toBe(0);
      expect(stop.ended).toBe(true);
    },
  );

  test('begins an event on its last delivery all the same, within the grace', async () => {
    const stage = await Stage.started({ graceSeconds: 5 });
    const last = { key: 'k', deliveryCount: 3, maxDeliveryAttempts: 3 };
    await stage.outbox.give(
      anEvent('a', { key: 'k' }),
      anEvent('b', last),
      anEvent('c', { key: 'k' }),
      anEvent('d', last),
    );
    const stop = stopping(stage);
    await turn();
    expect(stage.outbox.of('release').map((call) => call.slice(0, 9))).toEqual(['release c']);
    await stage.handler.end('a');
    expect(stage.handler.begun).toEqual(['a', 'b']);
    await stage.pass(5000);
    expect(stage.handler.aborted).toEqual({ b: 'stopping' });
    expect(stage.outbox.of('release').map((call) => call.slice(0, 9))).toEqual([
      'release c',
      'release d',
      'release b',
    ]);
    expect(stop.ended).toBe(true);
  });

  test('is one stop, however often it is asked for', async () => {
    const stage = await Stage.started();
    expect(stage.dispatcher.stop()).toBe(stage.dispatcher.stop());
    await stage.dispatcher.stop();
  });
});

test.each([
  { concurrency: 0 },
  { concurrency: 1.5 },
  { batchSize: 101 },
  { leaseSeconds: 0 },
  { waitSeconds: 21 },
  { waitSeconds: Number.NaN },
  { idleMs: 0 },
  { handlerTimeoutSeconds: 0 },
  { backoff: { baseMs: 0, capMs: 1 } },
])('%o is no option', (options) => {
  const { outbox } = new Stage();
  const given = { client: outbox, tenantId: 'a', consumerId: 'c', ...options };
  expect(() => new Dispatcher(given)).toThrow(RangeError);
});
