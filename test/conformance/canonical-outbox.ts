import { describe, expect, it } from 'vitest';
import type { CanonicalOutboxLease } from '../../contracts/generated/models.ts';
import { refused, START, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

export function describeOutbox({ store, rivals }: Conformance): void {
  async function publish(count: number, more: object = {}): Promise<TenantClient> {
    const tenant = new TenantClient(store());
    const outbox = Array.from({ length: count }, (_, n) => ({
      id: `e${n}`,
      topic: 't',
      key: 'k',
      payload: n,
      ...more,
    }));
    await tenant.commit({ outbox });
    return tenant;
  }

  async function leaseOne(tenant: TenantClient, leaseSeconds = 60): Promise<CanonicalOutboxLease> {
    const [lease] = await tenant.lease({ maxItems: 1, leaseSeconds });
    if (lease === undefined) throw new Error('nothing was due');
    return lease;
  }

  const stateOf = async (tenant: TenantClient, id: string) => {
    for (const state of ['ready', 'leased', 'scheduled', 'delivered', 'dead-letter'] as const) {
      if ((await tenant.queryOutbox({ state })).items.some((event) => event.id === id)) return state;
    }
    return 'lost';
  };

  describe('an event id of the caller', () => {
    it.each(['ctx_', 'ctx_0123456789abcdef0123456789abcdef:000', ' ctx_x '])(
      'is refused where it begins like an id of the service (%j)',
      async (id) => {
        const tenant = new TenantClient(store());
        const problem = await refused(
          'validation_failed',
          tenant.commit({ outbox: [{ id, topic: 't', key: 'k' }] }),
        );
        expect(problem.extensions.errors?.[0]?.pointer).toBe('/outbox/0/id');
        expect((await tenant.queryOutbox({ state: 'ready' })).items).toEqual([]);
      },
    );

    it.each(['CTX_1', 'ctx-1', 'my-ctx_1'])('may be %j', async (id) => {
      const tenant = new TenantClient(store());
      await tenant.commit({ outbox: [{ id, topic: 't', key: 'k' }] });
      expect(await stateOf(tenant, id)).toBe('ready');
    });
  });

  describe('outbox lease', () => {
    it('hands out due events in the order they became due, then by id', async () => {
      const tenant = await publish(2);
      tenant.advance(1000);
      await tenant.commit({ outbox: [{ id: 'a-late', topic: 't', key: 'k' }] });
      await tenant.commit({
        outbox: [{ id: 'z-early', topic: 't', key: 'k', notBeforeUtc: new Date(START - 1).toISOString() }],
      });
      expect((await tenant.lease()).map((l) => l.event.id)).toEqual(['z-early', 'e0', 'e1', 'a-late']);
      expect(await tenant.lease()).toEqual([]);
    });

    it('counts deliveries, names its owner, and gives a token of 64 hexadecimal digits', async () => {
      const tenant = await publish(1);
      const lease = await leaseOne(tenant, 1.5);
      expect(lease.leaseToken).toMatch(/^[0-9a-f]{64}$/);
      expect(lease.expiresAtUtc).toBe(new Date(START + 1500).toISOString());
      expect(lease.event).toMatchObject({
        deliveryCount: 1,
        leaseOwner: 'consumer',
        leaseExpiresAtUtc: lease.expiresAtUtc,
        payload: 0,
      });
    });

    it('stops at ten events by default, and at the limit of the caller', async () => {
      const tenant = await publish(14);
      expect(await tenant.lease({ maxItems: 3 })).toHaveLength(3);
      expect(await tenant.lease()).toHaveLength(10);
      expect(await tenant.lease()).toHaveLength(1);
    });

    it('gives an event to another consumer once the lease has run out, and not before', async () => {
      const tenant = await publish(1);
      const first = await leaseOne(tenant, 60);
      tenant.advance(59_999);
      expect(await tenant.lease()).toEqual([]);
      tenant.advance(1);
      expect(await stateOf(tenant, 'e0')).toBe('ready');
      const second = await leaseOne(tenant);
      expect(second.event.deliveryCount).toBe(2);
      await refused('lease_stale', tenant.ack('e0', first.leaseToken));
      await tenant.ack('e0', second.leaseToken);
    });

    it('leaves scheduled events until they are due', async () => {
      const tenant = await publish(1, { notBeforeUtc: new Date(START + 1000).toISOString() });
      expect(await stateOf(tenant, 'e0')).toBe('scheduled');
      expect(await tenant.lease()).toEqual([]);
      tenant.advance(1000);
      expect(await stateOf(tenant, 'e0')).toBe('ready');
      expect(await tenant.lease()).toHaveLength(1);
    });

    it('gives every event to one of several consumers', async () => {
      const tenant = await publish(20);
      const leases = await Promise.all(
        Array.from({ length: rivals }, (_, n) =>
          tenant.otherInstance().lease({ consumerId: `c${n}`, maxItems: 4 }),
        ),
      );
      const ids = leases.flat().map((lease) => lease.event.id);
      expect(new Set(ids).size).toBe(ids.length);
      const rest = await tenant.lease({ maxItems: 100 });
      expect([...ids, ...rest.map((l) => l.event.id)].sort()).toEqual(
        Array.from({ length: 20 }, (_, n) => `e${n}`).sort(),
      );
    });
  });

  describe('outbox renew, ack and release', () => {
    it('renews an active lease without a new delivery, also to an earlier moment', async () => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant, 60);
      tenant.advance(1000);
      const { expiresAtUtc } = await tenant.renew('e0', { leaseToken, leaseSeconds: 120 });
      expect(expiresAtUtc).toBe(new Date(START + 121_000).toISOString());
      await tenant.renew('e0', { leaseToken, leaseSeconds: 1 });
      tenant.advance(1000);
      expect((await leaseOne(tenant)).event.deliveryCount).toBe(2);
    });

    it('acknowledges once; repeating it is safe and keeps the first time', async () => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant);
      await tenant.ack('e0', leaseToken);
      tenant.advance(100_000);
      await tenant.otherInstance().ack('e0', leaseToken);
      const [event] = (await tenant.queryOutbox({ state: 'delivered' })).items;
      expect(event).toMatchObject({
        deliveredAtUtc: new Date(START).toISOString(),
        leaseOwner: null,
        deliveryCount: 1,
      });
      expect(await tenant.lease()).toEqual([]);
    });

    it.each(['renew', 'ack', 'release'] as const)(
      'refuses %s with a wrong, an expired or a used token',
      async (verb) => {
        const tenant = await publish(1);
        const call = (leaseToken: string) =>
          verb === 'ack' ? tenant.ack('e0', leaseToken) : tenant[verb]('e0', { leaseToken });
        await refused('lease_stale', call('0'.repeat(64)));
        const { leaseToken } = await leaseOne(tenant, 1);
        await refused('lease_stale', call(`${leaseToken}0`));
        tenant.advance(1000);
        await refused('lease_not_active', call(leaseToken));
        const again = await leaseOne(tenant);
        await tenant.release('e0', { leaseToken: again.leaseToken });
        await refused('lease_stale', call(again.leaseToken));
        await refused('not_found', tenant.ack('unknown', leaseToken));
      },
    );

    it('refuses to renew or release a delivered event', async () => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant);
      await tenant.ack('e0', leaseToken);
      await refused('lease_not_active', tenant.renew('e0', { leaseToken }));
      await refused('lease_not_active', tenant.release('e0', { leaseToken }));
    });

    it('keeps the tabs and line breaks of an error, and refuses other control characters', async () => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant);
      for (const error of ['a\u0000b', 'a\n\u001b[2J', 'a\u0085'])
        await refused('validation_failed', tenant.release('e0', { leaseToken, error }));
      await tenant.release('e0', { leaseToken, error: 'one\r\n\ttwo' });
      expect((await tenant.queryOutbox()).items[0]?.lastError).toBe('one\r\n\ttwo');
    });

    it.each<[string, { notBeforeUtc?: string; retryAfterSeconds?: number }, number]>([
      ['five seconds when nothing is said', {}, 5000],
      ['the seconds asked for', { retryAfterSeconds: 0.5 }, 500],
      ['the moment asked for', { notBeforeUtc: new Date(START + 7000).toISOString() }, 7000],
    ])('schedules a released event after %s', async (_, when, delayMs) => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant);
      await tenant.release('e0', { leaseToken, ...when, error: '  line one\nline two ' });
      const [event] = (await tenant.queryOutbox({ state: 'scheduled' })).items;
      expect(event).toMatchObject({
        notBeforeUtc: new Date(START + delayMs).toISOString(),
        lastError: 'line one\nline two',
        leaseOwner: null,
      });
      tenant.advance(delayMs - 1);
      expect(await tenant.lease()).toEqual([]);
      tenant.advance(1);
      expect((await leaseOne(tenant)).event.deliveryCount).toBe(2);
    });

    it('makes an event due at once when the moment has passed, and clears an error left out', async () => {
      const tenant = await publish(1);
      const first = await leaseOne(tenant);
      await tenant.release('e0', {
        leaseToken: first.leaseToken,
        notBeforeUtc: '2000-01-01T00:00:00Z',
        error: 'x',
      });
      const second = await leaseOne(tenant);
      expect(second.event).toMatchObject({ deliveryCount: 2, lastError: 'x' });
      await tenant.release('e0', { leaseToken: second.leaseToken, retryAfterSeconds: 1 });
      expect((await tenant.queryOutbox()).items[0]?.lastError).toBeNull();
    });

    it('refuses a release that names both a moment and a delay', async () => {
      const tenant = await publish(1);
      const { leaseToken } = await leaseOne(tenant);
      const both = { leaseToken, notBeforeUtc: '2030-01-01T00:00:00Z', retryAfterSeconds: 1 };
      await refused('validation_failed', tenant.release('e0', both));
      await tenant.ack('e0', leaseToken);
    });
  });

  describe('outbox dead letters', () => {
    it('parks an event that is released at its ceiling', async () => {
      const tenant = await publish(1, { maxDeliveryAttempts: 2 });
      for (const delay of [5000, 0]) {
        const { leaseToken } = await leaseOne(tenant);
        await tenant.release('e0', { leaseToken, error: 'no luck' });
        tenant.advance(delay);
      }
      const [event] = (await tenant.queryOutbox({ state: 'dead-letter' })).items;
      expect(event).toMatchObject({ deliveryCount: 2, lastError: 'no luck', notBeforeUtc: null });
      expect(event?.deadLetteredAtUtc).toBe(new Date(START + 5000).toISOString());
      tenant.advance(1e9);
      expect(await tenant.lease()).toEqual([]);
    });

    it('parks an event whose last lease ran out, at the moment it did', async () => {
      const tenant = await publish(1, { maxDeliveryAttempts: 1 });
      const { leaseToken, expiresAtUtc } = await leaseOne(tenant, 10);
      expect(await stateOf(tenant, 'e0')).toBe('leased');
      tenant.advance(10_000);
      const shown = (await tenant.queryOutbox({ state: 'dead-lettered' })).items;
      expect(shown).toMatchObject([{ id: 'e0', deadLetteredAtUtc: expiresAtUtc, leaseOwner: null }]);
      await refused('lease_not_active', tenant.ack('e0', leaseToken));
      tenant.advance(1000);
      expect(await tenant.lease()).toEqual([]);
      expect((await tenant.queryOutbox({ state: 'dead-letter' })).items).toEqual(shown);
      await refused('lease_not_active', tenant.ack('e0', leaseToken));
    });

    it('may still be acknowledged on its last allowed delivery', async () => {
      const tenant = await publish(1, { maxDeliveryAttempts: 1 });
      const { leaseToken } = await leaseOne(tenant);
      await tenant.ack('e0', leaseToken);
      expect(await stateOf(tenant, 'e0')).toBe('delivered');
    });

    it.each([
      [undefined, 1],
      [true, 0],
    ])('is deliverable at once after a replay (reset %s: count %s)', async (reset, count) => {
      const tenant = await publish(1, { maxDeliveryAttempts: 1 });
      const { leaseToken } = await leaseOne(tenant);
      await tenant.release('e0', { leaseToken, error: 'x' });
      tenant.advance(1000);
      await tenant.replay('e0', reset);
      expect((await tenant.queryOutbox({ state: 'ready' })).items).toMatchObject([
        {
          deliveryCount: count,
          lastError: null,
          deadLetteredAtUtc: null,
          notBeforeUtc: new Date(START + 1000).toISOString(),
        },
      ]);
      const again = await leaseOne(tenant);
      expect(again.event.deliveryCount).toBe(count + 1);
      await tenant.release('e0', { leaseToken: again.leaseToken });
      expect(await stateOf(tenant, 'e0')).toBe('dead-letter');
    });

    it('replays an event whose last lease ran out, before any lease call met it', async () => {
      const tenant = await publish(1, { maxDeliveryAttempts: 1 });
      await leaseOne(tenant, 1);
      tenant.advance(1000);
      await tenant.replay('e0', true);
      expect((await leaseOne(tenant)).event.deliveryCount).toBe(1);
    });

    it('refuses the replay of a live, a delivered or an unknown event', async () => {
      const tenant = await publish(1);
      await refused('outbox_event_not_dead_lettered', tenant.replay('e0'));
      const { leaseToken } = await leaseOne(tenant);
      await tenant.ack('e0', leaseToken);
      await refused('outbox_event_not_dead_lettered', tenant.replay('e0'));
      await refused('not_found', tenant.replay('unknown'));
    });
  });

  describe('outbox query', () => {
    it('lists the oldest first, then by event id; by state and topic; page after page', async () => {
      const tenant = new TenantClient(store());
      const outbox = Array.from({ length: 9 }, (_, n) => ({
        id: `e${n}`,
        topic: n % 2 === 0 ? 'even' : 'odd',
        key: 'k',
      }));
      await tenant.commit({ outbox });
      tenant.advance(1);
      await tenant.commit({ outbox: [{ id: 'a-later', topic: 'even', key: 'k' }] });
      const [first, second] = await tenant.lease({ maxItems: 2 });
      await tenant.ack('e0', first?.leaseToken ?? '');
      await tenant.release('e1', { leaseToken: second?.leaseToken ?? '' });
      const list = async (filter: Parameters<TenantClient['queryOutbox']>[0], limit: number) => {
        const ids: string[] = [];
        let continuationToken: string | null = null;
        do {
          const page = await tenant.queryOutbox({ ...filter, limit, continuationToken });
          ids.push(...page.items.map((event) => event.id));
          continuationToken = page.continuationToken;
        } while (continuationToken !== null);
        return ids;
      };
      for (const limit of [1, 2, 100]) {
        expect(await list({}, limit)).toEqual([...outbox.map((event) => event.id), 'a-later']);
        expect(await list({ topic: 'even' }, limit)).toEqual(['e0', 'e2', 'e4', 'e6', 'e8', 'a-later']);
        expect(await list({ topic: 'even', state: 'ready' }, limit)).toEqual([
          'e2',
          'e4',
          'e6',
          'e8',
          'a-later',
        ]);
        expect(await list({ state: 'scheduled' }, limit)).toEqual(['e1']);
        expect(await list({ state: 'delivered' }, limit)).toEqual(['e0']);
        expect(await list({ state: 'dead-letter' }, limit)).toEqual([]);
      }
    });

    it('refuses a token of another query, of another tenant, or changed in any place', async () => {
      const tenant = await publish(3);
      const { continuationToken } = await tenant.queryOutbox({ limit: 1 });
      expect(continuationToken).not.toBeNull();
      const token = continuationToken ?? '';
      expect(
        (await tenant.otherInstance().queryOutbox({ limit: 2, continuationToken: token })).items,
      ).toHaveLength(2);
      await refused(
        'continuation_token_invalid',
        tenant.queryOutbox({ topic: 't', continuationToken: token }),
      );
      await refused(
        'continuation_token_invalid',
        new TenantClient(store()).queryOutbox({ continuationToken: token }),
      );
      for (let at = 0; at < token.length; at++) {
        const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
        await refused('continuation_token_invalid', tenant.queryOutbox({ continuationToken: changed }));
      }
    });
  });
}
