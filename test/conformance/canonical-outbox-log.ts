import { describe, expect, it } from 'vitest';
import { OutboxTenant } from './canonical-outbox-tenant.ts';
import type { Conformance } from './canonical-suite.ts';

/** The log lines that alerts count. */
export function describeOutboxLog({ store }: Conformance): void {
  describe('the log of deliveries', () => {
    const event = { id: 'e', topic: 't', key: 'k' };

    it('names a dead letter once, when its last delivery is given back', async () => {
      const tenant = new OutboxTenant(store());
      await tenant.commit([{ ...event, maxDeliveryAttempts: 2 }]);
      for (const lines of [0, 1]) {
        const { leaseToken } = await tenant.leaseOne();
        await tenant.release('e', leaseToken, 1);
        expect(tenant.log).toHaveLength(lines);
        tenant.world.now += 1_000;
      }
      const message = 'An outbox event became a dead letter';
      const named = { tenantId: tenant.tenantId, topic: event.topic, eventId: 'e' };
      expect(tenant.log).toEqual([{ severity: 'WARNING', message, ...named }]);
    });

    it('names a dead letter once, when its last lease has expired', async () => {
      const tenant = new OutboxTenant(store());
      await tenant.commit([{ ...event, maxDeliveryAttempts: 1 }]);
      await tenant.leaseOne(10);
      tenant.world.now += 20_000;
      for (let calls = 0; calls < 2; calls += 1) expect(await tenant.lease()).toEqual([]);
      expect(tenant.log).toMatchObject([{ message: 'An outbox event became a dead letter' }]);
    });

    it('logs how long the oldest event of a lease waited, from a minute on', async () => {
      const tenant = new OutboxTenant(store());
      await tenant.commit([event]);
      tenant.world.now += 59_000;
      await tenant.commit([{ ...event, id: 'f' }]);
      expect(await tenant.lease({ maxItems: 1 })).toHaveLength(1);
      expect(tenant.log).toEqual([]);
      tenant.world.now += 61_000;
      await tenant.commit([{ ...event, id: 'g' }]);
      expect(await tenant.lease({ maxItems: 5 })).not.toEqual([]);
      const [line] = tenant.log;
      expect(line).toMatchObject({ message: 'An outbox event waited long for its consumer' });
      expect(line?.ageMs).toBeGreaterThanOrEqual(61_000);
      expect(line?.ageMs).toBeLessThan(70_000);
    });
  });
}
