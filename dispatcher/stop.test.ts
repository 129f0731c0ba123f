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
      // A call that began before the stop.
      await stage.outbox.give();
      expect(stage.outbox.of('release b')).toHaveLength(begun ? 0 : 1);
      expect(stage.dispatcher.held).toBe(0);
      expect(stop.ended).toBe(true);
    },
  );

  test('is one stop, however often it is asked for', async () => {
    const stage = await Stage.started();
    expect(stage.dispatcher.stop()).toBe(stage.dispatcher.stop());
    await stage.dispatcher.stop();
  });
});

test('NaN is no option', () => {
  const { outbox } = new Stage();
  const given = { client: outbox, tenantId: 'a', consumerId: 'c', waitSeconds: Number.NaN };
  expect(() => new Dispatcher(given)).toThrow(RangeError);
});
