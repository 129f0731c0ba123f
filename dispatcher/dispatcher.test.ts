import { describe, expect, test } from 'vitest';
import { hostileErrors } from '../test/support/hostile-errors.ts';
import { RetryAfter } from './errors.ts';
import { anEvent, lost, refusal, Stage, transient, turn } from './stage.fixture.ts';

/** An error whose wish cannot be read. */
function withoutDelay(): RetryAfter {
  const get = (): never => {
    throw new Error('no');
  };
  return Object.defineProperty(new RetryAfter(1, 'm'), 'retryAfterSeconds', { get });
}

describe('leasing', () => {
  test('asks for no more than there is room for, one call at a time', async () => {
    const stage = await Stage.started({ concurrency: 4, batchSize: 3, waitSeconds: 7 });
    expect(stage.outbox.leaseRequests).toEqual([
      { tenantId: 'acme', consumerId: 'test', maxItems: 3, leaseSeconds: 30, waitSeconds: 7 },
    ]);
    await stage.outbox.give(anEvent('a'), anEvent('b'), anEvent('c'));
    await stage.outbox.give(anEvent('d'));
    expect(stage.dispatcher.held).toBe(4);
    expect(stage.outbox.of('lease')).toEqual(['lease 3', 'lease 1']);
    await stage.handler.end('b');
    await stage.handler.end('c');
    expect(stage.outbox.of('lease')).toEqual(['lease 3', 'lease 1', 'lease 1']);
    await stage.outbox.give(anEvent('e'));
    expect(stage.outbox.of('lease').at(-1)).toBe('lease 1');
  });

  test.each([
    [0, 1000],
    [1, 500],
  ])('pauses after an empty answer that came at once (dice %d: %d ms)', async (dice, ms) => {
    const stage = new Stage();
    stage.dice = dice;
    stage.dispatcher.start();
    await turn();
    await stage.outbox.give();
    await stage.pass(ms - 1, 1);
    expect(stage.outbox.of('lease')).toHaveLength(1);
    await stage.pass(1);
    expect(stage.outbox.of('lease')).toHaveLength(2);
  });

  test('leases again at once after an answer that had waited', async () => {
    const stage = await Stage.started();
    await stage.pass(20_000);
    await stage.outbox.give();
    expect(stage.outbox.of('lease')).toHaveLength(2);
  });

  test('waits longer after each failure, at least as long as it is asked to, and is calm again after a success', async () => {
    const stage = new Stage();
    stage.dice = 0.999;
    stage.outbox.faults.lease.push(transient(), refusal(), new Error('odd'), transient(7000));
    stage.dispatcher.start();
    const at: number[] = [];
    for (let ms = 0; ms < 12_000; ms += 100) {
      const before = at.length;
      await turn();
      at.push(
        ...stage.outbox
          .of('lease')
          .slice(before)
          .map(() => ms),
      );
      await stage.pass(100);
    }
    expect(at).toEqual([0, 500, 1500, 3500, 10_500]);
    expect(stage.errors.map(({ context }) => context.during)).toEqual(['lease', 'lease', 'lease', 'lease']);
    stage.outbox.faults.lease.push(transient());
    await stage.outbox.give(anEvent('a'));
    expect(stage.handler.begun).toEqual(['a']);
    await stage.pass(400);
    expect(stage.outbox.of('lease')).toHaveLength(6);
    await stage.pass(100);
    expect(stage.outbox.of('lease')).toHaveLength(7);
  });

  test('a lease call that hangs is given up, and what it brings in the end is handled', async () => {
    const stage = new Stage({ waitSeconds: 20 });
    stage.outbox.deaf = true;
    stage.dispatcher.start();
    await turn();
    const answer = stage.outbox.answerer();
    await stage.pass(49_500);
    expect(stage.errors).toEqual([]);
    await stage.pass(1000);
    expect(stage.errors).toMatchObject([{ context: { during: 'lease' } }]);
    expect(stage.outbox.of('lease')).toHaveLength(2);
    await answer(anEvent('late'));
    expect(stage.handler.begun).toEqual(['late']);
  });
});

describe('handling', () => {
  test('acknowledges what was handled, and nothing before', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'), anEvent('b'));
    expect(stage.handler.begun).toEqual(['a', 'b']);
    expect(stage.outbox.of('acknowledge')).toEqual([]);
    await stage.handler.end('b');
    expect(stage.outbox.of('acknowledge')).toEqual(['acknowledge b']);
    expect(stage.reported.at(-1)).toMatchObject({ type: 'delivered', event: { id: 'b' } });
  });

  test('events of one key are handled one at a time in the order of the leases, others beside them', async () => {
    const stage = await Stage.started({ concurrency: 6 });
    const key = { key: 'k' };
    await stage.outbox.give(anEvent('k2', key), anEvent('other'), anEvent('k1', key), anEvent('k3', key));
    expect(stage.handler.begun).toEqual(['k2', 'other']);
    await stage.handler.end('k2');
    expect(stage.handler.begun).toEqual(['k2', 'other', 'k1']);
    // An event that failed does not block the events behind it.
    await stage.handler.end('k1', new Error('no'));
    expect(stage.handler.begun).toEqual(['k2', 'other', 'k1', 'k3']);
    await stage.outbox.give(anEvent('k4', key));
    expect(stage.handler.begun).toHaveLength(4);
    await stage.handler.end('k3');
    expect(stage.handler.begun.at(-1)).toBe('k4');
  });

  test('the next of a key begins only once the one before is acknowledged', async () => {
    const stage = await Stage.started();
    stage.outbox.faults.acknowledge.push(transient());
    await stage.outbox.give(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }));
    await stage.handler.end('a');
    expect(stage.handler.begun).toEqual(['a']);
    await stage.pass(500);
    expect(stage.handler.begun).toEqual(['a', 'b']);
  });

  test('gives a failed event back, later with every delivery, and says why', async () => {
    const stage = await Stage.started({ backoff: { baseMs: 1000, capMs: 5000 } });
    const fail = async (deliveryCount: number) => {
      await stage.outbox.give(anEvent(`e${deliveryCount}`, { deliveryCount }));
      await stage.handler.end(`e${deliveryCount}`, new Error('  no\u0000 luck  '));
    };
    for (const count of [1, 2, 3, 4, 50, 5000]) await fail(count);
    expect(stage.outbox.of('release')).toEqual([
      'release e1 0.5 no  luck',
      'release e2 1 no  luck',
      'release e3 2 no  luck',
      'release e4 2.5 no  luck',
      'release e50 2.5 no  luck',
      'release e5000 2.5 no  luck',
    ]);
    expect(stage.outbox.of('acknowledge')).toEqual([]);
    expect(stage.types()).toEqual(Array.from({ length: 6 }, () => 'failed'));
    stage.dice = 0;
    await stage.outbox.give(anEvent('soon'));
    await stage.handler.end('soon', new Error('x'));
    expect(stage.outbox.of('release').at(-1)).toBe('release soon 0.05 x');
  });

  test.each([
    [90, 90],
    [0, 0.001],
    [-1, 0.001],
    [1e9, 86_400],
    [Number.NaN, 0.5],
  ])('a handler may choose the delay itself (%d s)', async (asked, seconds) => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    await stage.handler.end('a', new RetryAfter(asked, 'busy'));
    expect(stage.outbox.of('release')).toEqual([`release a ${seconds} busy`]);
  });

  test.each([
    ['a'.repeat(3000), 'a'.repeat(1000)],
    [`${'a'.repeat(999)}😀`, `${'a'.repeat(999)}\uFFFD`],
    ['line\n\tnext', 'line\n\tnext'],
    [' ', 'the handler failed without saying why'],
  ])('the reason fits what an outbox keeps (%#)', async (thrown, text) => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    await stage.handler.end('a', thrown);
    expect(stage.outbox.of('release')).toEqual([`release a 0.5 ${text}`]);
  });

  test('a release that fails is repeated, and one that is refused is not', async () => {
    const stage = await Stage.started();
    stage.outbox.faults.release.push(transient(), transient(), refusal());
    await stage.outbox.give(anEvent('a'), anEvent('b'));
    await stage.handler.end('a', new Error('x'));
    await stage.pass(5000);
    expect(stage.outbox.of('release')).toHaveLength(3);
    expect(stage.dispatcher.held).toBe(1);
  });

  test('a topic without a handler is given back with the reason, and blocks nothing', async () => {
    const stage = await Stage.started();
    const topics = ['unknown', 'constructor', '__proto__'];
    await stage.outbox.give(
      ...topics.map((topic) => anEvent(topic, { topic, key: 'k' })),
      anEvent('a', { key: 'k' }),
    );
    expect(stage.outbox.of('release')).toEqual(
      topics.map((topic) => `release ${topic} 0.5 no handler for the topic ${topic}`),
    );
    expect(stage.handler.begun).toEqual(['a']);
  });

  test('the fallback takes the topics that have no handler of their own', async () => {
    const seen: string[] = [];
    const stage = await Stage.started({ fallback: ({ topic }) => seen.push(topic) });
    await stage.outbox.give(anEvent('a', { topic: 'other' }), anEvent('b'));
    expect(seen).toEqual(['other']);
    expect(stage.handler.begun).toEqual(['b']);
    expect(stage.outbox.of('acknowledge')).toEqual(['acknowledge a']);
  });

  test('a handler that throws synchronously counts as failed, and a hook that throws changes no delivery', async () => {
    const stage = await Stage.started({
      handlers: {
        claim: () => {
          throw new Error('at once');
        },
      },
      onEvent: () => {
        throw new Error('hook');
      },
    });
    await stage.outbox.give(anEvent('a'));
    expect(stage.outbox.of('release')).toEqual(['release a 0.5 at once']);
    expect(stage.errors.map(({ context }) => context.during)).toEqual(['hook', 'handle', 'hook']);
  });

  test.each<[string, unknown]>([
    ['an error whose message is no text', Object.assign(new Error('x'), { message: 42 })],
    ['an error whose message is an object', Object.assign(new Error('x'), { message: { no: 'text' } })],
    ['an object without a prototype', Object.create(null)],
    [
      'an object that throws when it is read',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    ['a delay that throws', withoutDelay()],
    ...hostileErrors(Error),
  ])('a handler that throws %s is one that failed, and holds up nothing', async (_, thrown) => {
    const handler = () => {
      throw thrown;
    };
    const stage = await Stage.started({ handlers: { claim: handler } });
    await stage.outbox.give(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }));
    expect(stage.outbox.of('release').map((call) => call.split(' ', 2).join(' '))).toEqual([
      'release a',
      'release b',
    ]);
    expect(stage.dispatcher.held).toBe(0);
    await stage.dispatcher.stop();
  });

  test('a handler that exceeds its timeout is aborted, and its event is released even if the handler returns a result later', async () => {
    const stage = await Stage.started({ handlerTimeoutSeconds: 10, abortGraceSeconds: 2 });
    await stage.outbox.give(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }));
    stage.handler.obeys = false;
    await stage.pass(10_000);
    expect(stage.handler.aborted).toEqual({ a: 'handler_timeout' });
    expect(stage.handler.begun).toEqual(['a']);
    await stage.handler.end('a');
    expect(stage.outbox.of('release')).toEqual(['release a 0.5 the handler took longer than its timeout']);
    expect(stage.outbox.of('acknowledge')).toEqual([]);
    expect(stage.handler.begun).toEqual(['a', 'b']);
    // This handler never ends: the dispatcher abandons it.
    await stage.pass(11_500);
    expect(stage.outbox.of('release')).toHaveLength(1);
    await stage.pass(500);
    expect(stage.outbox.of('release')).toHaveLength(2);
    expect(stage.dispatcher.held).toBe(0);
  });
});

describe('a lease', () => {
  test('is renewed every third of its time while the event is handled or waits for its key', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }));
    await stage.pass(9_500);
    expect(stage.outbox.of('renew')).toEqual([]);
    await stage.pass(500);
    expect(stage.outbox.of('renew')).toEqual(['renew a', 'renew b']);
    await stage.pass(50_000);
    expect(stage.outbox.of('renew')).toHaveLength(12);
    await stage.handler.end('a');
    await stage.handler.end('b');
    expect(stage.outbox.of('acknowledge')).toEqual(['acknowledge a', 'acknowledge b']);
    await stage.pass(60_000);
    expect(stage.outbox.of('renew')).toHaveLength(12);
  });

  test.each([lost, refusal])(
    'that is lost aborts its handler, and is not acknowledged (%o)',
    async (fault) => {
      const stage = await Stage.started();
      await stage.outbox.give(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }));
      stage.handler.obeys = false;
      stage.outbox.faults.renew.push(fault());
      await stage.pass(10_000);
      expect(stage.handler.aborted).toEqual({ a: 'lease_lost' });
      // The key stays blocked while the handler ends.
      expect(stage.handler.begun).toEqual(['a']);
      await stage.handler.end('a');
      expect(stage.handler.begun).toEqual(['a', 'b']);
      expect(stage.types()).toEqual(['lost']);
      expect([...stage.outbox.of('acknowledge'), ...stage.outbox.of('release')]).toEqual([]);
    },
  );

  test('is renewed again after a failure, and is lost when it has run out all the same', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    stage.outbox.faults.renew.push(transient(), 'hang');
    await stage.pass(21_000);
    expect(stage.handler.aborted).toEqual({});
    expect(stage.outbox.of('renew').length).toBeGreaterThanOrEqual(3);
    stage.outbox.faults.renew.push(...Array.from({ length: 100 }, () => transient()));
    const renewed = stage.world.now;
    for (let s = 0; s < 60 && stage.handler.aborted['a'] === undefined; s++) await stage.pass(500);
    expect(stage.handler.aborted).toEqual({ a: 'lease_lost' });
    expect(stage.world.now - renewed).toBeLessThanOrEqual(30_000);
    expect(stage.outbox.of('acknowledge')).toEqual([]);
    expect(stage.types()).toEqual(['lost']);
  });

  test('runs out exactly when it was to, where no renewal succeeds', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    stage.outbox.faults.renew.push(...Array.from({ length: 100 }, () => transient()));
    await stage.pass(29_500);
    expect(stage.handler.aborted).toEqual({});
    await stage.pass(500);
    expect(stage.handler.aborted).toEqual({ a: 'lease_lost' });
  });

  test('holds from before the renewal was sent, however late its answer', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    const slow = Promise.withResolvers<void>();
    stage.outbox.faults.renew.push(slow.promise, ...Array.from({ length: 100 }, () => transient()));
    await stage.pass(18_000);
    slow.resolve();
    await stage.pass(21_500);
    expect(stage.handler.aborted).toEqual({});
    await stage.pass(500);
    expect(stage.handler.aborted).toEqual({ a: 'lease_lost' });
  });

  test('that is lost while its event waits takes the event away', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(
      anEvent('a', { key: 'k' }),
      anEvent('b', { key: 'k' }),
      anEvent('c', { key: 'k' }),
    );
    stage.outbox.faults.renew.push(transient(), lost());
    await stage.pass(11_000);
    expect(stage.dispatcher.held).toBe(2);
    await stage.handler.end('a');
    await stage.handler.end('c');
    expect(stage.handler.begun).toEqual(['a', 'c']);
    expect(stage.reported.filter(({ type }) => type === 'lost')).toMatchObject([{ event: { id: 'b' } }]);
  });

  test('is used to repeat an acknowledgement that failed, as long as it lasts and without renewing it', async () => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'), anEvent('b'));
    stage.outbox.faults.acknowledge.push(transient(4000), 'hang');
    await stage.handler.end('a');
    await stage.pass(3_500);
    expect(stage.outbox.of('acknowledge')).toHaveLength(1);
    await stage.pass(26_500);
    expect(stage.outbox.of('acknowledge')).toEqual(['acknowledge a', 'acknowledge a']);
    expect(stage.types()).toEqual(['unacknowledged']);
    expect(stage.outbox.of('renew a')).toEqual([]);
    stage.outbox.faults.acknowledge.push(transient(), transient());
    await stage.handler.end('b');
    await stage.pass(3000);
    expect(stage.outbox.of('acknowledge b')).toHaveLength(3);
    expect(stage.types()).toEqual(['unacknowledged', 'delivered']);
  });

  test.each([
    [lost, 'lost'],
    [refusal, 'unacknowledged'],
  ])('whose acknowledgement is refused is dropped (%o)', async (fault, type) => {
    const stage = await Stage.started();
    await stage.outbox.give(anEvent('a'));
    stage.outbox.faults.acknowledge.push(fault());
    await stage.handler.end('a');
    await stage.pass(60_000);
    expect(stage.outbox.of('acknowledge')).toHaveLength(1);
    expect(stage.types()).toEqual([type]);
    expect(stage.dispatcher.held).toBe(0);
  });
});
