import { describe, expect, it } from 'vitest';
import { fenceKey, tenantScope } from '../../functions/groups/canonical/records.ts';
import { callAt, handlersOver, refused, START, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

export function describeReadCanonicalFence({ store }: Conformance): void {
  const OWNER = { ownerDocumentType: 'claim', ownerDocumentId: 'a' };
  const FENCE = { name: 'policy-number', value: 'P-1', ...OWNER };
  const AT = new Date(START).toISOString();

  async function read({ tenantId }: TenantClient, name = FENCE.name, value = FENCE.value) {
    const { readCanonicalFence } = handlersOver(store(), { now: START });
    const input = { params: { tenantId, name, value }, query: {}, body: null };
    return (await readCanonicalFence(input, callAt(START))).body;
  }

  describe('readCanonicalFence', () => {
    it('answers the owner of the fence, and the time of its claim', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ fences: [FENCE] });
      tenant.advance(1000);
      await tenant.commit({ fences: [FENCE] });
      const { tenantId } = tenant;
      expect(await read(tenant)).toEqual({ tenantId, ...FENCE, createdAtUtc: AT, updatedAtUtc: AT });
    });

    it('answers the next owner once the fence has changed hands', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ fences: [FENCE] });
      await tenant.commit({ fences: [{ ...FENCE, operation: 'release' }] });
      tenant.advance(1000);
      await tenant.commit({ fences: [{ ...FENCE, ownerDocumentId: 'b' }] });
      const later = new Date(START + 1000).toISOString();
      expect(await read(tenant)).toMatchObject({ ownerDocumentId: 'b', createdAtUtc: later });
    });

    it('answers a fence that outlives its owner', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a')], fences: [FENCE] });
      await tenant.commit({ mutations: [tenant.remove('a')] });
      expect(await read(tenant)).toMatchObject(OWNER);
    });

    it('keeps names and values apart wherever their slashes are', async () => {
      const tenant = new TenantClient(store());
      const names = [
        ['a/b', 'c'],
        ['a', 'b/c'],
        ['a%2Fb', 'c'],
      ] as const;
      await tenant.commit({
        fences: names.map(([name, value], n) => ({ ...FENCE, name, value, ownerDocumentId: `d${n}` })),
      });
      for (const [n, [name, value]] of names.entries())
        expect(await read(tenant, name, value)).toMatchObject({ name, value, ownerDocumentId: `d${n}` });
    });

    it('answers not_found for a fence without an owner', async () => {
      const tenant = new TenantClient(store());
      await refused('not_found', read(tenant));
      await tenant.commit({ fences: [FENCE] });
      await refused('not_found', read(tenant, FENCE.name, 'P-2'));
      await refused('not_found', read(tenant, 'other', FENCE.value));
      await refused('not_found', read(new TenantClient(store())));
      await tenant.commit({ fences: [{ ...FENCE, operation: 'release' }] });
      await refused('not_found', read(tenant));
    });

    it('does not believe a record of another fence', async () => {
      const tenant = new TenantClient(store());
      const key = fenceKey(FENCE.name, FENCE.value);
      const head = { ...FENCE, value: 'P-2', createdAtUtc: AT, updatedAtUtc: AT };
      await store().transact(tenantScope(tenant.tenantId), { keys: [{ key }] }, () => ({
        writes: [{ put: { key, head, body: null, listing: null } }],
        result: null,
      }));
      await expect(read(tenant)).rejects.toMatchObject({ failure: 'corrupt' });
    });
  });
}
