import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deleteTenant, forgetDeletion } from '../../functions/compose/delete-tenant.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { tenantCollections, tenantScope } from '../../functions/groups/canonical/records.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import { existingRuns } from '../../functions/runs/copies/restore-runs.ts';
import { runShareKey } from '../../functions/runs/records.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { TenantClient } from '../support/canonical.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { archived, begin, type Deployment, SMALL_INLINE } from './execution-copies-runs.ts';
import { ownRuns } from './execution-fixtures.ts';
import { contentOf, roomForBytes } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** The deletion of a tenant: canonical data, and runs with all their records. */
export function describeTenantDeletion({ store }: ExecutionConformance): void {
  const deployment = async () => ownRuns(store(), { ...SMALL_INLINE, blobs: await roomForBytes() });

  /** Documents with revisions, a fence, events and receipts of the tenant. */
  async function write(tenantId: string): Promise<void> {
    const client = new TenantClient(store(), tenantId);
    const mutations = ['a', 'b', 'c'].map((id) => client.upsert(id, { tenantId }));
    const outbox = [{ topic: 't', key: 'k', payload: { tenantId } }];
    await client.commit({ idempotencyKey: randomUUID(), mutations, outbox });
    for (let n = 0; n < 25; n += 1)
      await client.commit({ idempotencyKey: `again-${n}`, mutations: [client.upsert('a', { n })], outbox });
  }

  /** The names of each tenant: its id, the ids of its runs, and the record that counts its runs. */
  const names = new Map<string, readonly string[]>();

  async function tenantIn(room: Deployment): Promise<string> {
    const { tenantId, sleeping, waiting, held, queued, done } = await begin(room);
    const counter = runShareKey({ productId: 'copies', tenantId }, 0).id;
    names.set(tenantId, [tenantId, sleeping, waiting, held, queued, done, counter]);
    await write(tenantId);
    return tenantId;
  }

  /**
   * Every record that is of the tenant or names it, one of its runs or its counter. Remains hold a run id alone: they make a
   * later prune remove bytes that a late worker adds.
   */
  async function allOf(room: Deployment, tenantId: string): Promise<string[]> {
    const named = names.get(tenantId) ?? [tenantId];
    // The id of a run may also number an entry in the history of another run.
    const others = [...names.keys()].filter((name) => name !== tenantId);
    const lines = (await contentOf(store(), room.scope)).filter(
      (line) =>
        !line.startsWith('remains ') &&
        named.some((name) => line.includes(name)) &&
        !others.some((name) => line.includes(name)),
    );
    const collections = tenantCollections.map(({ name }) => name);
    for await (const { records } of store().scan(tenantScope(tenantId), { collections, pageSize: 100 }))
      lines.push(...records.map((record) => JSON.stringify(record)));
    return lines;
  }

  describe('the deletion of a tenant', () => {
    it('leaves no record of it and every record of its neighbour, and gives a receipt', async () => {
      const room = await deployment();
      const [tenantId, neighbour] = [await tenantIn(room), await tenantIn(room)];
      const { runtime } = room.instance;
      const kept = await allOf(room, neighbour);
      const now = room.clock.now;
      const { contentHash, ...snapshot } = await exportTenant(store(), tenantId, { now });
      const { manifest } = await archived(room, { tenantId, productId: null });
      const receipt = await deleteTenant(runtime, tenantId, 'here', { cancelRuns: true });
      await forgetDeletion(runtime, tenantId);
      expect(await allOf(room, tenantId)).toEqual([]);
      expect(await allOf(room, neighbour)).toEqual(kept);
      expect(kept.length).toBeGreaterThan(50);
      const counts = { documents: snapshot.documents.length, commits: 26, events: 26, fences: 0 };
      expect(receipt).toMatchObject({ tenantId, recordsLeft: 0, canonical: { counts, contentHash } });
      expect(receipt.runs).toEqual({ counts: manifest.counts, contentHash: manifest.snapshotContentHash });
      const { contentHash: own, ...content } = receipt;
      expect(own).toBe(sha256(canonicalJson(content)));
    });

    it('is refused while runs are active, with nothing deleted', async () => {
      const room = await deployment();
      const tenantId = await tenantIn(room);
      const before = await allOf(room, tenantId);
      const { runtime } = room.instance;
      await expect(deleteTenant(runtime, tenantId, 'here', { cancelRuns: false })).rejects.toMatchObject({
        conflict: 'active_runs',
      });
      expect(await allOf(room, tenantId)).toEqual(before);
    });

    it('ends with one receipt, however often it is killed', async () => {
      const room = await deployment();
      const [tenantId, neighbour] = [await tenantIn(room), await tenantIn(room)];
      const { runtime } = room.instance;
      const kept = await allOf(room, neighbour);
      const { manifest } = await archived(room, { tenantId, productId: null });
      const options = { cancelRuns: true };
      let receipt: Awaited<ReturnType<typeof deleteTenant>> | null = null;
      let kills = 0;
      while (receipt === null) {
        let writes = 0;
        const dying = {
          ...runtime,
          store: async () => mortal(await runtime.store(), () => ++writes > kills),
        };
        receipt = await deleteTenant(dying, tenantId, 'here', options).catch((error: unknown) => {
          if (!(error instanceof StoreError)) throw error;
          kills += 1;
          return null;
        });
      }
      expect(kills).toBeGreaterThan(3);
      expect(receipt.runs).toEqual({ counts: manifest.counts, contentHash: manifest.snapshotContentHash });
      expect(receipt.canonical.counts).toMatchObject({ commits: 26 });
      expect(await allOf(room, tenantId)).toEqual([]);
      expect(await allOf(room, neighbour)).toEqual(kept);
    });

    it('counts a reused tenant again, after the tool was killed beside the receipt', async () => {
      const room = await deployment();
      const tenantId = await tenantIn(room);
      const { runtime } = room.instance;
      const remove = () => deleteTenant(runtime, tenantId, 'here', { cancelRuns: true });
      const first = await remove();
      room.clock.now += 60_000;
      expect(await remove()).toEqual(first);
      const client = new TenantClient(store(), tenantId);
      await client.commit({ idempotencyKey: 'new', mutations: [client.upsert('new', {})] });
      const second = await remove();
      expect(second.canonical.counts).toMatchObject({ commits: 1, documents: 1 });
      expect(second.runs.counts).toMatchObject({ runs: 0 });
      const { beganAtUtc, canonical, runs, database, deletedAtUtc } = first;
      expect(second.earlier).toEqual({ beganAtUtc, canonical, runs, database, deletedAtUtc });
      expect(await allOf(room, tenantId)).toEqual([]);
      await forgetDeletion(runtime, tenantId);
      expect(await remove()).not.toHaveProperty('earlier');
    });

    it('leaves tenants with the same name prefix, also those with special characters', async () => {
      const room = await deployment();
      const { runtime } = room.instance;
      const start = randomUUID().slice(0, 8);
      const alike = [
        start,
        `${start}/50%_ü'`,
        `${start}/50%_ü''`,
        `${start}/50%_u\u0308'`,
        `${start}\u{1f600}"\\`,
      ];
      for (const name of alike) await begin(room, name);
      for (const [at, name] of alike.entries()) {
        const receipt = await deleteTenant(runtime, name, 'here', { cancelRuns: true });
        expect([receipt.tenantId, receipt.runs.counts.runs]).toEqual([name, 5]);
        for (const [other, tenantId] of alike.entries()) {
          const runs = other <= at ? { runs: 0, active: 0 } : { runs: 5, active: 4 };
          expect(await existingRuns(runtime, { tenantId, productId: null })).toEqual(runs);
        }
      }
    });

    it('of an unknown tenant deletes nothing and reports zero', async () => {
      const room = await deployment();
      const neighbour = await tenantIn(room);
      const kept = await allOf(room, neighbour);
      const { runtime } = room.instance;
      const receipt = await deleteTenant(runtime, randomUUID(), 'here', { cancelRuns: true });
      expect(Object.values(receipt.canonical.counts).every((count) => count === 0)).toBe(true);
      expect(await allOf(room, neighbour)).toEqual(kept);
    });
  });
}

/** A store whose process dies: from then on every write fails. */
export function mortal(store: RecordStore, dies: () => boolean): RecordStore {
  const transact: RecordStore['transact'] = (...given) =>
    dies() ? Promise.reject(new StoreError('unavailable', 'the process is gone')) : store.transact(...given);
  return patched(store, { transact });
}
