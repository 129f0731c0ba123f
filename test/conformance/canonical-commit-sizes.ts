import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Commit, refused, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

/** The largest commit that the service accepts, and the ids that a later commit cannot reuse. */
export function describeCommitSizes({ store }: Conformance): void {
  describe('commit', () => {
    it('carries large payloads, and brings them back on replay', async () => {
      const tenant = new TenantClient(store());
      // Noise, so that nothing is gained by compressing it.
      const noise = (n: number) =>
        Array.from({ length: 7_000 }, (_, k) =>
          createHash('sha512').update(`${n}/${k}`).digest('hex').slice(0, 100),
        ).join('');
      const request: Commit = {
        idempotencyKey: 'large',
        mutations: [tenant.upsert('a')],
        outbox: [0, 1].map((n) => ({ topic: 't', key: 'k', payload: { noise: noise(n) } })),
      };
      const first = await tenant.commit(request);
      expect(JSON.stringify(await tenant.commit(request))).toBe(JSON.stringify({ ...first, replayed: true }));
      expect((await tenant.lease()).map((lease) => lease.event.payload)).toEqual(
        first.outbox.map((e) => e.payload),
      );
    });

    it('refuses more than 3 MiB together, and accepts slightly less', async () => {
      const tenant = new TenantClient(store());
      const part = (n: number) => tenant.upsert(`d${n}`, { x: 'x'.repeat(899_000) });
      await refused('commit_too_large', tenant.commit({ mutations: [part(0), part(1), part(2), part(3)] }));
    });

    it('refuses an event id that the tenant has used', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ outbox: [{ id: 'e1', topic: 't', key: 'k' }] });
      const call = tenant.commit({
        mutations: [tenant.upsert('a')],
        outbox: [{ id: 'e1', topic: 't', key: 'k' }],
      });
      const error = await refused('outbox_event_exists', call);
      expect(error.extensions.errors?.[0]?.pointer).toBe('/outbox/0/id');
      await refused('not_found', tenant.read('claim', 'a'));
    });
  });
}
