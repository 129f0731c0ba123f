import { describe, expect, it } from 'vitest';
import { TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

/**
 * Canonical JSON escapes the second name. V8 may confuse it with the name of another object: one with the same first
 * member, followed by a backslash.
 */
const others = { '!': [], '\\': 0 };
const data = { '!': 1, '"': 2 };

export function describeNames({ store }: Conformance): void {
  describe('names of members', () => {
    it('keep their spelling when another tenant stores similar names', async () => {
      const [other, tenant] = [new TenantClient(store()), new TenantClient(store())];
      await other.commit({ mutations: [other.upsert('a', others)] });
      await other.read('claim', 'a');
      await tenant.commit({ mutations: [tenant.upsert('a', data)] });
      const { data: read } = await tenant.read('claim', 'a');
      expect(read).toStrictEqual(data);
      const [revision] = await tenant.revisions('claim', 'a');
      expect(revision?.document.data).toStrictEqual(data);
    });
  });
}
