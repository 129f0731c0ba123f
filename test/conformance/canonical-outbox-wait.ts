import { describe, expect, it } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { OutboxTenant, patched } from './canonical-outbox-tenant.ts';
import type { Conformance } from './canonical-suite.ts';

const event = (id: string, more: object = {}) => ({ id, topic: 't', key: 'k', ...more });

/** A store that reports each query for due events, after its end and before its caller gets the result. */
function watched(store: RecordStore) {
  const watch = { looks: 0, afterLook: null as (() => Promise<void>) | null };
  const claim: RecordStore['claim'] = async (...call) => {
    const found = await store.claim(...call);
    watch.looks += 1;
    const { afterLook } = watch;
    watch.afterLook = null;
    await afterLook?.();
    return found;
  };
  return { watch, store: patched(store, { claim }) };
}

export function describeOutboxWait({ store }: Conformance): void {
  /** A call that is among those that wait: its first look is under way. */
  async function waitingCall(tenant: OutboxTenant, body: object = {}, signal?: AbortSignal) {
    const armed = tenant.world.pendingTimers;
    const call = tenant.lease({ waitSeconds: 20, ...body }, signal);
    expect(tenant.world.pendingTimers).toBeGreaterThan(armed);
    return { call };
  }

  describe('outbox lease that waits', () => {
    it('is answered at once when an event is due, or without waitSeconds', async () => {
      const tenant = new OutboxTenant(store());
      expect(await tenant.lease()).toEqual([]);
      expect(await tenant.lease({ waitSeconds: 0 })).toEqual([]);
      await tenant.commit([event('e')]);
      expect(await tenant.lease({ waitSeconds: 20 })).toHaveLength(1);
      expect(tenant.world.pendingTimers).toBe(0);
    });

    it('is answered by the commit of an event, also by one made between its look and its wait', async () => {
      const { watch, store: spied } = watched(store());
      const tenant = new OutboxTenant(spied);
      watch.afterLook = async () => void (await tenant.commit([event('early')]));
      expect(await tenant.lease({ waitSeconds: 20 })).toMatchObject([{ event: { id: 'early' } }]);
      expect(watch.looks).toBe(2);
      const { call } = await waitingCall(tenant);
      await tenant.commit([event('late')]);
      expect(await call).toMatchObject([{ event: { id: 'late' } }]);
    });

    it('leases and renews for the whole time also where the store takes ten seconds before it decides', async () => {
      const world = new ManualWorld();
      const inner = store();
      const claim: RecordStore['claim'] = (scope, collection, wish, decide) =>
        inner.claim(scope, collection, wish, (record, offer) => {
          world.now += 10_000;
          return decide(record, offer);
        });
      const transact: RecordStore['transact'] = (scope, request, decide) =>
        inner.transact(scope, request, (found) => {
          world.now += 10_000;
          return decide(found);
        });
      const tenant = new OutboxTenant(patched(inner, { claim, transact }), { world });
      await tenant.commit([event('e')]);
      const [lease] = await tenant.lease({ leaseSeconds: 30 });
      expect(Date.parse(lease?.expiresAtUtc ?? '')).toBe(world.now + 30_000);
      const renewed = await tenant.renew('e', lease?.leaseToken ?? '');
      expect(Date.parse(renewed)).toBeGreaterThanOrEqual(world.now + 60_000);
    });

    it('leases for the whole time from the look that found the event, not from its arrival', async () => {
      const { watch, store: spied } = watched(store());
      const tenant = new OutboxTenant(spied);
      const begin = tenant.world.now;
      const { promise: looked, resolve } = Promise.withResolvers<void>();
      watch.afterLook = () => Promise.resolve(resolve());
      const { call } = await waitingCall(tenant, { leaseSeconds: 10 });
      await looked;
      tenant.world.now += 500;
      await tenant.commit([event('e')]);
      expect(await call).toMatchObject([{ expiresAtUtc: new Date(begin + 10_500).toISOString() }]);
    });

    it('is answered when a scheduled, a released or a replayed event becomes due', async () => {
      const tenant = new OutboxTenant(store());
      const at = new Date(tenant.world.now + 250).toISOString();
      await tenant.commit([event('e', { notBeforeUtc: at, maxDeliveryAttempts: 2 })]);
      const scheduled = await waitingCall(tenant);
      tenant.world.advance(250);
      const [first] = await scheduled.call;
      await tenant.release('e', first?.leaseToken ?? '', 0.3);
      const released = await waitingCall(tenant);
      tenant.world.advance(300);
      const [second] = await released.call;
      await tenant.release('e', second?.leaseToken ?? '');
      const parked = await waitingCall(tenant);
      await tenant.replay('e');
      expect(await parked.call).toMatchObject([{ event: { id: 'e', deliveryCount: 3 } }]);
    });

    it('finds an event of another instance at one of its periodic checks', async () => {
      const tenant = new OutboxTenant(store());
      const other = new OutboxTenant(store(), { tenantId: tenant.tenantId, world: tenant.world });
      const { call } = await waitingCall(tenant);
      await other.commit([event('e')]);
      tenant.world.advance(1000);
      expect(await call).toHaveLength(1);
    });

    it('ends empty when the time is over or the caller has gone, and leases nothing', async () => {
      const tenant = new OutboxTenant(store());
      const { call } = await waitingCall(tenant, { waitSeconds: 0.25 });
      tenant.world.advance(250);
      expect(await call).toEqual([]);
      const controller = new AbortController();
      const gone = await waitingCall(tenant, {}, controller.signal);
      controller.abort();
      expect(await gone.call).toEqual([]);
      await tenant.commit([event('e')]);
      expect((await tenant.leaseOne()).event.deliveryCount).toBe(1);
      expect(tenant.world.pendingTimers).toBe(0);
    });
  });
}
