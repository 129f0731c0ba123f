import { describe, expect, test } from 'vitest';
import { hostileErrors } from '../test/support/hostile-errors.ts';
import { RetryAfter } from './errors.ts';
import { anEvent, Stage, transient } from './stage.fixture.ts';

/** An error whose wish cannot be read. */
function withoutDelay(): RetryAfter {
  const get = (): never => {
    throw new Error('no');
  };
  return Object.defineProperty(new RetryAfter(1, 'm'), 'retryAfterSeconds', { get });
}

describe('handling', () => {
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
});

describe('a lease', () => {
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
});
