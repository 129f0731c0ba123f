import { describe, expect, it } from 'vitest';
import { type Commit, refused, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

export function describeIdempotency({ store, rivals }: Conformance): void {
  const KEY = 'create-1';

  /** A commit that touches everything, so that a replay must bring everything back. */
  function whole(tenant: TenantClient, more: Commit = {}): Commit {
    return {
      idempotencyKey: KEY,
      correlationId: 'corr-1',
      actor: 'somebody',
      mutations: [
        tenant.upsert('b', { z: 1, a: [1, { y: 'π', x: null }] }, { indexes: { status: 'open' } }),
        tenant.upsert('a', { n: 1 }),
      ],
      fences: [
        {
          operation: 'claim' as const,
          name: 'number',
          value: '1',
          ownerDocumentType: 'claim',
          ownerDocumentId: 'b',
        },
      ],
      outbox: [{ topic: 't', key: 'k', payload: { b: 1, a: 2 }, headers: { h: 'v' } }],
      ...more,
    };
  }

  describe('idempotency', () => {
    it('answers a repeated key with the stored result, also after later changes', async () => {
      const tenant = new TenantClient(store());
      const first = await tenant.commit(whole(tenant));
      expect(first.replayed).toBe(false);
      tenant.advance(60_000);
      await tenant.commit({ mutations: [tenant.upsert('a', { n: 2 }), tenant.remove('b')] });
      const [lease] = await tenant.lease();
      await tenant.ack(lease?.event.id ?? '', lease?.leaseToken ?? '');
      const again = await tenant.otherInstance().commit(whole(tenant));
      expect(again).toEqual({ ...first, replayed: true });
      // To the letter: also the order of members is that of the first answer.
      expect(JSON.stringify(again)).toBe(JSON.stringify({ ...first, replayed: true }));
      const [revision] = await tenant.revisions('claim', 'b');
      expect(Object.keys(revision?.document ?? {})).toEqual(Object.keys(first.documents[0] ?? {}));
    });

    it('makes transaction and event ids that follow from tenant and key', async () => {
      const tenant = new TenantClient(store(), 'tenant-a');
      const result = await tenant.commit(whole(tenant)).catch(() => undefined);
      // The pinned tenant is shared by runs over one database, where it is a replay.
      expect(result?.transactionId).toBe('ctx_d32d9f9570b2363c78c925aff7e8f70e');
      expect(result?.outbox[0]?.id).toBe('ctx_d32d9f9570b2363c78c925aff7e8f70e:000');
    });

    it.each<[string, (tenant: TenantClient) => Commit]>([
      ['another correlation id', () => ({ correlationId: 'corr-2' })],
      ['no correlation id', () => ({ correlationId: null })],
      ['another actor', () => ({ actor: 'somebody else' })],
      ['white space around the key', () => ({ idempotencyKey: ` ${KEY} ` })],
      [
        'members in another order, defaults spelt out and values that the server owns',
        (tenant) => ({
          mutations: [
            {
              ...tenant.upsert('b', { a: [1, { x: null, y: 'π' }], z: 1 }, { indexes: { status: 'open' } }),
              precondition: { mustExist: false, mustNotExist: false },
            },
            tenant.upsert('a', { n: 1.0 }, { revision: 17, etag: 'x', createdAtUtc: '2020-01-01T00:00:00Z' }),
          ],
        }),
      ],
    ])('takes a retry with %s for the same request', async (_, change) => {
      const tenant = new TenantClient(store());
      const first = await tenant.commit(whole(tenant));
      expect(await tenant.commit(whole(tenant, change(tenant)))).toEqual({ ...first, replayed: true });
    });

    it.each<[string, (tenant: TenantClient) => Commit]>([
      [
        'other data',
        (tenant) => ({ mutations: [tenant.upsert('b', { z: 2 }), tenant.upsert('a', { n: 1 })] }),
      ],
      [
        'another order of mutations',
        (tenant) => ({ mutations: [...(whole(tenant).mutations ?? [])].toReversed() }),
      ],
      [
        'another precondition',
        (tenant) => ({
          mutations: [
            ...(whole(tenant).mutations ?? []).slice(0, 1),
            tenant.upsert('a', { n: 1 }, { precondition: { mustNotExist: true } }),
          ],
        }),
      ],
      ['no fence', () => ({ fences: [] })],
      [
        'another payload',
        () => ({ outbox: [{ topic: 't', key: 'k', payload: { b: 1 }, headers: { h: 'v' } }] }),
      ],
      [
        'another header',
        () => ({ outbox: [{ topic: 't', key: 'k', payload: { b: 1, a: 2 }, headers: { h: 'w' } }] }),
      ],
    ])('refuses the key with %s', async (_, change) => {
      const tenant = new TenantClient(store());
      await tenant.commit(whole(tenant));
      await refused('idempotency_conflict', tenant.commit(whole(tenant, change(tenant))));
    });

    it('keeps a key free when its commit failed', async () => {
      const tenant = new TenantClient(store());
      const failing = whole(tenant, {
        mutations: [tenant.upsert('a', {}, { precondition: { mustExist: true } })],
      });
      await refused('precondition_failed', tenant.commit(failing));
      expect((await tenant.commit(whole(tenant))).replayed).toBe(false);
    });

    it('keeps the keys of tenants apart', async () => {
      const one = new TenantClient(store());
      const other = new TenantClient(store());
      await one.commit(whole(one));
      expect((await other.commit(whole(other))).replayed).toBe(false);
    });

    it('makes one commit of concurrent identical ones, and replays of the rest', async () => {
      const tenant = new TenantClient(store());
      const other = tenant.otherInstance();
      const calls = Array.from({ length: rivals }, (_, n) =>
        (n % 2 === 0 ? tenant : other).commit(whole(tenant)),
      );
      const results = await Promise.all(calls);
      const [first, ...more] = results.filter((r) => !r.replayed);
      expect(more).toEqual([]);
      for (const result of results) expect({ ...result, replayed: false }).toEqual(first);
      expect(await tenant.revisions('claim', 'a')).toHaveLength(1);
      expect((await tenant.queryOutbox()).items).toHaveLength(1);
    });

    it('stores a verified caller as the actor, in place of the one in the body', async () => {
      const tenant = new TenantClient(store());
      expect((await tenant.commit(whole(tenant), 'robot@project')).actor).toBe('robot@project');
      expect((await tenant.commit(whole(tenant), 'another@project')).actor).toBe('robot@project');
    });
  });
}
