import { describe, expect, it } from 'vitest';
import { eventKey, tenantScope } from '../../functions/groups/canonical/records.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { refused } from '../support/canonical.ts';
import { OutboxTenant, type OutboxTenantOptions, patched } from './canonical-outbox-tenant.ts';
import type { Conformance } from './canonical-suite.ts';

const DAY_MS = 86_400_000;
const event = (id: string, more: object = {}) => ({ id, topic: 't', key: 'k', ...more });

export function describeOutboxRetention({ store }: Conformance): void {
  /** The same tenant through an instance with another setting. */
  const configured = (tenant: OutboxTenant, keptDays: number | null): OutboxTenant => {
    const { tenantId, world } = tenant;
    return new OutboxTenant(store(), { tenantId, world, keptDays });
  };

  /** A tenant whose event `e` was delivered now; gives its last token. */
  async function delivered(options: OutboxTenantOptions = { keptDays: 1 }) {
    const tenant = new OutboxTenant(store(), options);
    await tenant.commit([event('e')], 'key');
    const { leaseToken } = await tenant.leaseOne();
    await tenant.ack('e', leaseToken);
    return { tenant, leaseToken };
  }

  async function stored(tenant: OutboxTenant, id: string): Promise<boolean> {
    const keys = [{ key: eventKey(id) }];
    return (await store().query(tenantScope(tenant.tenantId), { by: 'keys', keys })).records.length > 0;
  }

  describe('retention of delivered events', () => {
    it('keeps them without a limit when no retention is set', async () => {
      const { tenant, leaseToken } = await delivered({});
      tenant.world.now += 10_000 * DAY_MS;
      await tenant.lease();
      await tenant.retention.settled();
      expect(await tenant.list()).toEqual(['e']);
      await tenant.ack('e', leaseToken);
    });

    it('shows an event up to the last moment of its time, and to no call after it', async () => {
      const { tenant, leaseToken } = await delivered();
      tenant.world.now += DAY_MS;
      expect(await tenant.list()).toEqual(['e']);
      expect(await tenant.list('delivered')).toEqual(['e']);
      await tenant.ack('e', leaseToken);
      await refused('lease_not_active', tenant.renew('e', leaseToken));
      await refused('outbox_event_not_dead_lettered', tenant.replay('e'));
      await refused('outbox_event_exists', tenant.commit([event('e')]));
      tenant.world.now += 1;
      expect(await tenant.list()).toEqual([]);
      expect(await tenant.list('delivered')).toEqual([]);
      await refused('not_found', tenant.ack('e', leaseToken));
      await refused('not_found', tenant.renew('e', leaseToken));
      await refused('not_found', tenant.release('e', leaseToken));
      await refused('not_found', tenant.replay('e'));
      // All of it before the record was removed.
      expect(await stored(tenant, 'e')).toBe(true);
    });

    it('gives the same answers after the record was removed, which a lease call starts', async () => {
      const { tenant, leaseToken } = await delivered();
      // The look that the first lease call set off: while it runs, a call starts no other.
      await tenant.retention.settled();
      tenant.world.now += DAY_MS + 1;
      expect(await tenant.lease()).toEqual([]);
      await tenant.retention.settled();
      expect(await stored(tenant, 'e')).toBe(false);
      expect(await tenant.list()).toEqual([]);
      await refused('not_found', tenant.ack('e', leaseToken));
      await refused('not_found', tenant.replay('e'));
    });

    it.each([false, true])(
      'frees the id, and the receipt keeps its copy (removed before: %s)',
      async (removed) => {
        const { tenant, leaseToken } = await delivered();
        tenant.world.now += DAY_MS + 1;
        if (removed) {
          await tenant.lease();
          await tenant.retention.settled();
        }
        await tenant.commit([event('e', { topic: 'second', payload: { n: 2 } })]);
        const replayed = await tenant.commit([event('e')], 'key');
        expect(replayed).toMatchObject({ replayed: true, outbox: [{ id: 'e', topic: 't' }] });
        await refused('lease_stale', tenant.ack('e', leaseToken));
        const again = await tenant.leaseOne();
        expect(again.event).toMatchObject({ id: 'e', topic: 'second', payload: { n: 2 }, deliveryCount: 1 });
        await tenant.retention.settled();
        expect(await tenant.list()).toEqual(['e']);
      },
    );

    it('removes no event that took the id while the removal was on its way', async () => {
      const { tenant } = await delivered();
      const { tenantId, world } = tenant;
      world.now += DAY_MS + 1;
      const query = (async (...call: Parameters<RecordStore['query']>) => {
        const page = await store().query(...call);
        await tenant.commit([event('e', { topic: 'second' })]);
        return page;
      }) as RecordStore['query'];
      const slow = new OutboxTenant(patched(store(), { query }), { tenantId, world, keptDays: 1 });
      await slow.lease();
      await slow.retention.settled();
      expect((await tenant.leaseOne()).event).toMatchObject({ id: 'e', topic: 'second' });
    });

    it('touches no event that is not delivered, however old', async () => {
      const tenant = new OutboxTenant(store(), { keptDays: 1 });
      await tenant.commit([event('ready'), event('parked', { maxDeliveryAttempts: 1 })]);
      const leases = await tenant.lease();
      for (const {
        event: { id },
        leaseToken,
      } of leases)
        await tenant.release(id, leaseToken, 1);
      tenant.world.now += 1000 * DAY_MS;
      const [lease] = await tenant.lease();
      await tenant.retention.settled();
      expect(lease?.event.id).toBe('ready');
      expect(await tenant.list()).toEqual(['parked', 'ready']);
      await tenant.replay('parked');
      // Delivered late: its time counts from then, and it is read in vain until it is over.
      await tenant.ack('ready', lease?.leaseToken ?? '');
      tenant.world.now += DAY_MS;
      await tenant.lease();
      await tenant.retention.settled();
      expect(await tenant.list('delivered')).toEqual(['ready']);
      for (const [ms, there] of [
        [60_000, true],
        [6_000, false],
      ] as const) {
        tenant.world.now += ms;
        await tenant.lease();
        await tenant.retention.settled();
        expect(await stored(tenant, 'ready')).toBe(there);
      }
    });

    it('removes old events in bounded steps, oldest first, and keeps the others', async () => {
      const tenant = new OutboxTenant(store(), { keptDays: null });
      for (let n = 0; n < 230; n += 50) {
        const events = Array.from({ length: Math.min(50, 230 - n) }, (_, m) =>
          event(`old${String(n + m).padStart(3, '0')}`),
        );
        await tenant.commit(events);
        tenant.world.now += 1;
      }
      const ackAll = async () => {
        const leases = await tenant.lease({ maxItems: 100 });
        await Promise.all(leases.map(({ event: { id }, leaseToken }) => tenant.ack(id, leaseToken)));
        return leases.length;
      };
      while ((await ackAll()) > 0);
      tenant.world.now += 2 * DAY_MS;
      await tenant.commit([event('young')]);
      await ackAll();
      // Switched on with a past: at once for every reader, and call by call in the database.
      const keeping = configured(tenant, 1);
      expect(await keeping.list()).toEqual(['young']);
      await keeping.lease();
      await keeping.retention.settled();
      expect(await stored(tenant, 'old199')).toBe(false);
      expect(await stored(tenant, 'old200')).toBe(true);
      await keeping.lease();
      await keeping.retention.settled();
      expect(await tenant.list()).toEqual(['young']);
      expect(keeping.log).toEqual([]);
    });

    it('follows a setting that was raised or lowered, but brings nothing back that is removed', async () => {
      const { tenant } = await delivered();
      tenant.world.now += 5 * DAY_MS;
      expect(await configured(tenant, 4).list()).toEqual([]);
      expect(await configured(tenant, 5).list()).toEqual(['e']);
      expect(await configured(tenant, null).list()).toEqual(['e']);
      await tenant.lease();
      await tenant.retention.settled();
      expect(await configured(tenant, null).list()).toEqual([]);
    });

    it('answers before it removes, removes once at a time, and logs a failure', async () => {
      const failing = { count: 0 };
      const query = () => {
        failing.count += 1;
        return Promise.reject(new StoreError('unavailable', 'planted'));
      };
      const faulty = patched(store(), { query });
      const { tenant } = await delivered();
      tenant.world.now += DAY_MS + 1;
      const { tenantId, world } = tenant;
      const broken = new OutboxTenant(faulty, { tenantId, world, keptDays: 1 });
      expect(await Promise.all([broken.lease(), broken.lease()])).toEqual([[], []]);
      await broken.retention.settled();
      expect(failing.count).toBe(1);
      expect(broken.log).toMatchObject([
        { severity: 'WARNING', message: expect.stringContaining('removed') },
      ]);
      await broken.lease();
      expect(failing.count).toBe(1);
      world.now += 60_000;
      await broken.lease();
      await broken.retention.settled();
      expect(failing.count).toBe(2);
    });
  });
}
