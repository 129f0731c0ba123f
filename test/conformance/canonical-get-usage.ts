import { describe, expect, it } from 'vitest';
import { addUse } from '../../functions/quotas/usage-store.ts';
import { callAt, handlersOver, START, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

export function describeGetUsage({ store }: Conformance): void {
  describe('getUsage', () => {
    it('answers what all processes have added, for the tenant and the space of its name', async () => {
      const { tenantId } = new TenantClient(store());
      const { getUsage } = handlersOver(store(), { now: START });
      const read = async () =>
        (await getUsage({ params: { tenantId }, query: {}, body: null }, callAt(START))).body;
      const limit = { limit: 1_000_000, setting: 'Quotas:TenantBytesMax' };
      const none = { used: 0, ofRuns: 0, ...limit };
      expect(await read()).toEqual({ tenantId, tenant: none, space: none });
      const tenant = { kind: 'tenants', name: tenantId } as const;
      const space = { kind: 'spaces', name: tenantId } as const;
      await addUse(store(), tenant, 0, { data: 500, runs: 70 });
      // Another process removes data that the first one wrote.
      await addUse(store(), tenant, 3, { data: -100, runs: 0 });
      await addUse(store(), space, 1, { data: 9, runs: 0 });
      expect(await read()).toEqual({
        tenantId,
        tenant: { used: 470, ofRuns: 70, ...limit },
        space: { used: 9, ofRuns: 0, ...limit },
      });
    });
  });
}
