import { describe, expect, it } from 'vitest';
import { FENCES, tenantScope } from '../../functions/groups/canonical/records.ts';
import { refused, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

const SCAN = { collections: [FENCES.name], pageSize: 10 };

export function describeFences({ store, rivals }: Conformance): void {
  type Kind = 'claim' | 'release';
  const fence = (operation: Kind, owner: string, value = 'P-1') => ({
    operation,
    name: 'policy-number',
    value,
    ownerDocumentType: 'claim',
    ownerDocumentId: owner,
  });

  describe('fences', () => {
    it.each<[string, readonly (readonly [Kind, string])[], string | null]>([
      ['claim of a free one', [['claim', 'a']], null],
      [
        'claim again by its owner',
        [
          ['claim', 'a'],
          ['claim', 'a'],
        ],
        null,
      ],
      [
        'claim by another',
        [
          ['claim', 'a'],
          ['claim', 'b'],
        ],
        'fence_conflict',
      ],
      [
        'release by its owner',
        [
          ['claim', 'a'],
          ['release', 'a'],
        ],
        null,
      ],
      [
        'release by another',
        [
          ['claim', 'a'],
          ['release', 'b'],
        ],
        'fence_not_owned',
      ],
      ['release of a missing one', [['release', 'a']], 'fence_not_owned'],
      [
        'claim by another after release',
        [
          ['claim', 'a'],
          ['release', 'a'],
          ['claim', 'b'],
        ],
        null,
      ],
      [
        'release twice',
        [
          ['claim', 'a'],
          ['release', 'a'],
          ['release', 'a'],
        ],
        'fence_not_owned',
      ],
    ])('%s', async (_, steps, code) => {
      const tenant = new TenantClient(store());
      for (const [n, [operation, owner]] of steps.entries()) {
        const call = tenant.commit({ fences: [fence(operation, owner)] });
        if (n === steps.length - 1 && code !== null) await refused(code, call);
        else await call;
      }
    });

    it('keeps its times when its owner claims it again', async () => {
      const tenant = new TenantClient(store());
      const head = async () => {
        for await (const page of store().scan(tenantScope(tenant.tenantId), SCAN))
          return page.records[0]?.head;
        return undefined;
      };
      await tenant.commit({ fences: [fence('claim', 'a')] });
      const before = await head();
      tenant.advance(1000);
      await tenant.commit({ fences: [fence('claim', 'a')] });
      expect(before).toMatchObject({ name: 'policy-number', value: 'P-1', ownerDocumentId: 'a' });
      expect(await head()).toEqual(before);
    });

    it('keeps another value of the same name apart', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ fences: [fence('claim', 'a', 'P-1'), fence('claim', 'b', 'P-2')] });
      await refused('fence_conflict', tenant.commit({ fences: [fence('claim', 'a', 'P-2')] }));
    });

    it('refuses the same fence twice in one transaction, even claim and release', async () => {
      const tenant = new TenantClient(store());
      const call = tenant.commit({ fences: [fence('claim', 'a'), fence('release', 'a')] });
      const error = await refused('duplicate_in_request', call);
      expect(error.extensions.errors?.[0]?.pointer).toBe('/fences/1');
    });

    it('outlives its owner document until it is released', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a')], fences: [fence('claim', 'a')] });
      await tenant.commit({ mutations: [tenant.remove('a')] });
      await refused('fence_conflict', tenant.commit({ fences: [fence('claim', 'b')] }));
    });

    it('takes the whole transaction down with it', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ fences: [fence('claim', 'a')] });
      await refused(
        'fence_conflict',
        tenant.commit({ mutations: [tenant.upsert('b')], fences: [fence('claim', 'b')] }),
      );
      await refused('not_found', tenant.read('claim', 'b', true));
    });

    it('is won by one of several rivals', async () => {
      const tenant = new TenantClient(store());
      const claims = Array.from({ length: rivals }, (_, n) =>
        tenant.commit({ mutations: [tenant.upsert(`d${n}`)], fences: [fence('claim', `d${n}`)] }),
      );
      const settled = await Promise.allSettled(claims);
      expect(settled.filter((s) => s.status === 'fulfilled')).toHaveLength(1);
      const reads = await Promise.allSettled(claims.map((_, n) => tenant.read('claim', `d${n}`)));
      expect(reads.map((r) => r.status)).toEqual(settled.map((s) => s.status));
    });

    it('that is claimed again is still its owner’s when the commit lands', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ fences: [fence('claim', 'a')] });
      // Either the repeated claim comes first, or the release does and the claim takes a free fence: no commit relies
      // on a fence that another document holds by then.
      const [again, , taken] = await Promise.allSettled([
        tenant.commit({ mutations: [tenant.upsert('relies-on-fence')], fences: [fence('claim', 'a')] }),
        tenant.commit({ fences: [fence('release', 'a')] }),
        tenant.commit({ fences: [fence('claim', 'b')] }),
      ]);
      const holder = await tenant.commit({ fences: [fence('claim', 'a')] }).then(
        () => 'a',
        () => 'b',
      );
      expect(again?.status === 'fulfilled' || taken?.status === 'fulfilled').toBe(true);
      if (taken?.status === 'fulfilled') expect(holder).toBe('b');
    });
  });
}
