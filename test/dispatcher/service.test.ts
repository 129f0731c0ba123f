import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { OutboxEvent } from '../../dispatcher/client.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { RetryAfter } from '../../dispatcher/errors.ts';
import { HttpOutboxClient } from '../../dispatcher/http-client.ts';
import type { DispatcherEvent, DispatcherOptions } from '../../dispatcher/options.ts';
import { machine } from '../../functions/compose/machine.ts';
import { type RunningService, startService } from '../support/service.ts';
import { fetchOf, Tenant } from './in-process.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(settings: Record<string, string> = {}, world = machine): Promise<RunningService> {
  const service = await startService({ settings, world });
  cleanUps.push(() => service.close());
  return service;
}

/** A dispatcher of the service that reports its events to the test. */
function dispatch(service: RunningService, options: Partial<DispatcherOptions>) {
  const events: DispatcherEvent[] = [];
  const listeners = new Set<() => void>();
  const dispatcher = new Dispatcher({
    client: new HttpOutboxClient({ address: 'http://in-process', fetch: fetchOf(service) }),
    tenantId: 'acme',
    consumerId: 'test',
    backoff: { baseMs: 1, capMs: 1 },
    onEvent: (event) => {
      events.push(event);
      for (const listener of listeners) listener();
    },
    ...options,
  });
  const until = (happened: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!happened()) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
    });
  const count = (type: DispatcherEvent['type']) => events.filter((event) => event.type === type).length;
  cleanUps.push(() => dispatcher.stop());
  dispatcher.start();
  return { dispatcher, events, until, count };
}

describe('a dispatcher over a real service', () => {
  test('delivers stored events, and those that arrive while its call waits', async () => {
    const service = await serve();
    const tenant = new Tenant(service);
    await tenant.publish({ id: 'a', payload: { n: 1 } }, { id: 'b' });
    const seen: OutboxEvent[] = [];
    const { dispatcher, until, count } = dispatch(service, {
      handlers: { claim: (event) => void seen.push(event) },
    });
    await until(() => count('delivered') === 2);
    await tenant.publish({ id: 'c' });
    await until(() => count('delivered') === 3);
    await dispatcher.stop();
    expect(seen.map(({ id, payload, deliveryCount }) => [id, payload, deliveryCount])).toEqual([
      ['a', { n: 1 }, 1],
      ['b', null, 1],
      ['c', null, 1],
    ]);
    expect((await tenant.events('delivered')).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(service.lines).toEqual([]);
  });

  test('returns failures, and parks events without a handler or without success with the reason', async () => {
    const service = await serve();
    const tenant = new Tenant(service);
    await tenant.publish(
      { id: 'flaky' },
      { id: 'odd', topic: 'unknown', maxDeliveryAttempts: 2 },
      { id: 'doomed', maxDeliveryAttempts: 3 },
    );
    const { dispatcher, until, count } = dispatch(service, {
      handlers: {
        claim({ id, deliveryCount }) {
          if (id === 'doomed') throw new RetryAfter(0, 'never\u0007 works');
          if (deliveryCount < 3) throw new Error('not yet');
        },
      },
    });
    await until(() => count('delivered') === 1 && count('failed') === 7);
    await dispatcher.stop();
    expect(await tenant.events('delivered')).toMatchObject([{ id: 'flaky', deliveryCount: 3 }]);
    expect(await tenant.events('dead-letter')).toMatchObject([
      { id: 'doomed', deliveryCount: 3, lastError: 'never  works' },
      { id: 'odd', deliveryCount: 2, lastError: 'no handler for the topic unknown' },
    ]);
  });

  test('delivered events are removed after the retention of the settings', async () => {
    let passedMs = 0;
    const world = { ...machine, clock: { now: () => machine.clock.now() + passedMs } };
    const service = await serve({ 'CanonicalStore:DeliveredEventRetentionDays': '2' }, world);
    const tenant = new Tenant(service);
    await tenant.publish({ id: 'a' });
    const { dispatcher, until, count } = dispatch(service, { fallback: () => {} });
    await until(() => count('delivered') === 1);
    await dispatcher.stop();
    passedMs = 2 * 86_400_000 - 60_000;
    expect(await tenant.events()).toMatchObject([{ id: 'a' }]);
    passedMs = 2 * 86_400_000 + 60_000;
    expect(await tenant.events()).toEqual([]);
  });

  test('stops without leaving anything leased', async () => {
    const service = await serve();
    const tenant = new Tenant(service);
    await tenant.publish({ id: 'a', key: 'k' }, { id: 'b', key: 'k' }, { id: 'c' }, { id: 'd' });
    const running = Promise.withResolvers<void>();
    const { dispatcher, until } = dispatch(service, {
      handlers: {
        claim: async ({ id }, { signal }) => {
          if (id === 'd') await new Promise((_, reject) => signal.addEventListener('abort', reject));
          await running.promise;
        },
      },
      graceSeconds: 0.05,
    });
    await until(() => dispatcher.held === 4);
    const stopped = dispatcher.stop();
    running.resolve();
    await stopped;
    expect((await tenant.events('delivered')).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await tenant.events('leased')).toEqual([]);
    expect((await tenant.events()).filter(({ id }) => id === 'b' || id === 'd')).toMatchObject([
      { deliveryCount: 1, lastError: 'the dispatcher stopped before it began' },
      { deliveryCount: 1, lastError: 'the dispatcher stopped before the handler had ended' },
    ]);
  });
});

test('two dispatchers over two instances of one database deliver every event, of each key one at a time in each', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-dispatcher-'));
  cleanUps.push(() => Promise.resolve(rmSync(folder, { recursive: true, force: true })));
  const settings = { 'CanonicalStore:DatabasePath': join(folder, 'one.sqlite') };
  const services = [await serve(settings), await serve(settings)] as const;
  const tenant = new Tenant(services[0]);
  const keys = 12;
  const ids = Array.from({ length: 300 }, (_, n) => `e${String(n).padStart(3, '0')}`);
  const publish = (from: number, to: number) =>
    tenant.publish(
      ...ids.slice(from, to).map((id, n) => ({ id, key: `k${(from + n) % keys}`, maxDeliveryAttempts: 50 })),
    );
  await publish(0, 100);
  const handled = new Map<string, number>();
  const dispatchers = services.map((service, which) => {
    const busy = new Set<string>();
    const first: string[] = [];
    const running = dispatch(service, {
      consumerId: `dispatcher-${which}`,
      concurrency: 10,
      waitSeconds: 2,
      handlers: {
        claim: async ({ id, key, deliveryCount }) => {
          expect(busy.has(key)).toBe(false);
          busy.add(key);
          if (deliveryCount === 1) first.push(id);
          await new Promise(setImmediate);
          busy.delete(key);
          // Every seventh event fails at first.
          if (deliveryCount === 1 && Number(id.slice(1)) % 7 === 0) throw new Error('at first');
          handled.set(id, (handled.get(id) ?? 0) + 1);
        },
      },
    });
    return { ...running, first };
  });
  await publish(100, 200);
  await publish(200, 300);
  const done = () => dispatchers.reduce((sum, { count }) => sum + count('delivered'), 0) === ids.length;
  await Promise.race(dispatchers.map(({ until }) => until(done)));
  await Promise.all(dispatchers.map(({ dispatcher }) => dispatcher.stop()));
  // No lease ran out here, so at least once is exactly once.
  expect(Object.fromEntries(handled)).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));
  expect((await tenant.events('delivered')).map(({ id }) => id)).toEqual(ids);
  expect(
    dispatchers.flatMap(({ events }) =>
      events.filter(({ type }) => type === 'lost' || type === 'unacknowledged'),
    ),
  ).toEqual([]);
  const failures = dispatchers.reduce((sum, { count }) => sum + count('failed'), 0);
  expect(failures).toBe(ids.filter((_, n) => n % 7 === 0).length);
  for (const { first } of dispatchers) {
    expect(first.length).toBeGreaterThan(0);
    // First deliveries of a key come in the order of the commits.
    for (let key = 0; key < keys; key++) {
      const ofKey = first.filter((id) => Number(id.slice(1)) % keys === key);
      expect(ofKey).toEqual([...ofKey].sort());
    }
  }
});
