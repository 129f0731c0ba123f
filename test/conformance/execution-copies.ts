import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ChunkSource } from '../../functions/archives/chunk-objects.ts';
import { ALL_RUNS } from '../../functions/runs/copies/archive-lines.fixture.ts';
import { removeRuns } from '../../functions/runs/copies/remove-runs.ts';
import { existingRuns, restoreRuns, verifyRuns } from '../../functions/runs/copies/restore-runs.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import type { RecordData } from '../../functions/store/port.ts';
import { archived, begin, type Deployment, goOn, SMALL_INLINE } from './execution-copies-runs.ts';
import { HANDLER, leased, ownRuns, scopeOf } from './execution-fixtures.ts';
import { contentOf, rich, roomForBytes } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { mortal } from './execution-tenant-deletion.ts';

/** A process that dies after the given number of transactions. */
function dyingAfter(steps: number, runtime: Deployment['instance']['runtime']) {
  let writes = 0;
  return { ...runtime, store: async () => mortal(await runtime.store(), () => ++writes > steps) };
}

/** Archives of runs: export, restore and removal. A deployment of another scope represents another database. */
export function describeRunCopies({ store }: ExecutionConformance): void {
  const deployment = async () => ownRuns(store(), { ...SMALL_INLINE, blobs: await roomForBytes() });

  describe('archives of runs', () => {
    it('restore runs in the middle of their work, and each continues and ends once', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      const { archive, manifest } = await archived(from, ALL_RUNS);
      expect(manifest.counts).toMatchObject({
        runs: 5,
        artifacts: 2,
        blobs: 1,
        missingBlobs: 0,
        admissions: 1,
      });
      to.clock.now += 60_000;
      await restoreRuns(to.instance.runtime, archive, ALL_RUNS);
      await goOn(to, begun);
    });

    it('restore the runs of one tenant beside those of others, which stay as they are', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      await begin(from);
      const of = { tenantId: begun.tenantId, productId: null };
      const { archive, manifest } = await archived(from, of);
      expect(manifest.counts.runs).toBe(5);
      const neighbour = await begin(to);
      to.clock.now += 60_000;
      const before = await linesWith(to, neighbour.tenantId);
      await restoreRuns(to.instance.runtime, archive, of);
      expect(await linesWith(to, neighbour.tenantId)).toEqual(before);
      await goOn(to, begun);
      expect(await existingRuns(to.instance.runtime, of)).toEqual({ runs: 5, active: 0 });
    });

    it('bring runs back into their own database, and nothing of the removed ones clears them later', async () => {
      const room = await deployment();
      const begun = await begin(room);
      const { client, instance } = room;
      const bare = await client.start({ handlerId: HANDLER, scope: scopeOf('copies', begun.tenantId) });
      await client.release(await leased(client, bare.id));
      const of = { tenantId: begun.tenantId, productId: null };
      const { archive } = await archived(room, of);
      room.clock.now += 60_000;
      await restoreRuns(instance.runtime, archive, of, { replace: true });
      const work = await leased(client, bare.id);
      await client.putCheckpoint({ ...work, checkpoint: { key: 'new', content: 1 } });
      room.clock.now += 2 * 3_600_000;
      await client.prune({ dryRun: false, retainTerminalRuns: 500 });
      room.clock.now -= 2 * 3_600_000;
      expect((await client.readCheckpoint({ ...work, key: 'new' }))?.content).toBe(1);
      await client.complete({ ...work, result: {} });
      await goOn(room, begun);
    });

    it('carry every record of every kind unchanged', async () => {
      const [from, to] = [await deployment(), await deployment()];
      await rich(from);
      const { archive } = await archived(from, ALL_RUNS);
      to.clock.now = from.clock.now;
      await restoreRuns(to.instance.runtime, archive, ALL_RUNS);
      const kinds = ['admissions', 'checkpoints', 'leases', 'runs', 'timers', 'traces', 'values'];
      for (const kind of kinds) {
        const [before, after] = await Promise.all([recordsOf(from, kind), recordsOf(to, kind)]);
        expect(before.length, kind).toBeGreaterThan(0);
        expect(after).toEqual(before);
      }
      const both = [from, to].map(async ({ client }) => {
        const [run] = await client.list();
        return (await client.artifacts(run?.id ?? '')).map((artifact) => ({ ...artifact, uri: null }));
      });
      const [before, after] = await Promise.all(both);
      expect(after).toEqual(before);
      expect(after).toHaveLength(3);
    });

    it('name the artifacts that have lost their bytes, and need a blob store for the others', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      const { archive } = await archived(from, ALL_RUNS);
      const placeless = { ...to.instance.runtime, blobs: null };
      await expect(restoreRuns(placeless, archive, ALL_RUNS)).rejects.toThrow('need a blob store');
      expect(await contentOf(store(), to.scope)).toEqual([]);
      const blobs = await from.instance.runtime.blobs?.();
      await blobs?.removeAll('artifacts/');
      const lost = await archived(from, ALL_RUNS);
      expect(lost.manifest.counts).toMatchObject({ artifacts: 2, blobs: 0, missingBlobs: 1 });
      await restoreRuns(to.instance.runtime, lost.archive, ALL_RUNS);
      expect(await existingRuns(to.instance.runtime, ALL_RUNS)).toEqual({ runs: 5, active: 4 });
      expect((await to.client.artifact(begun.held, 'small')).text).toBe(begun.tenantId);
    });

    it('have the same hash for the same content on every database', async () => {
      const from = await deployment();
      await begin(from);
      const [one, two] = [await archived(from, ALL_RUNS), await archived(from, ALL_RUNS)];
      expect(one.manifest).toEqual(two.manifest);
    });

    it('are refused over runs, unless these are replaced', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      const of = { tenantId: begun.tenantId, productId: null };
      for (const wanted of [ALL_RUNS, of]) {
        const { archive } = await archived(from, wanted);
        const { runtime } = from.instance;
        const before = await contentOf(store(), runtime.scope);
        await expect(restoreRuns(runtime, archive, wanted)).rejects.toMatchObject({ conflict: 'not_empty' });
        expect(await contentOf(store(), runtime.scope)).toEqual(before);
      }
      await begin(to, begun.tenantId);
      const { archive } = await archived(from, of);
      to.clock.now += 60_000;
      await restoreRuns(to.instance.runtime, archive, of, { replace: true });
      await goOn(to, begun);
      const whole = await archived(from, ALL_RUNS);
      await restoreRuns(to.instance.runtime, whole.archive, ALL_RUNS, { replace: true });
      await goOn(to, begun);
    });

    it('replace all runs, and the bytes of runs that a prune had not cleared yet go later', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const { archive } = await archived(from, ALL_RUNS);
      const { held, tenantId } = await begin(to);
      const { runtime } = to.instance;
      const blobs = (await runtime.blobs?.()) ?? expect.fail();
      const broken = new Proxy(blobs, {
        get(target, name) {
          if (name === 'removeAll') return () => Promise.reject(new Error('no bytes are removed'));
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const dying = { ...runtime, blobs: () => Promise.resolve(broken) };
      const of = { tenantId, productId: null };
      await expect(removeRuns(dying, of, { cancel: true })).rejects.toThrow('no bytes are removed');
      const bytes = async () => (await blobs.list(`artifacts/${held}/`, { limit: 10 })).keys;
      expect(await bytes()).toHaveLength(1);
      await restoreRuns(runtime, archive, ALL_RUNS, { replace: true });
      to.clock.now += 2 * 3_600_000;
      await to.client.prune({ dryRun: false, retainTerminalRuns: 500 });
      expect(await bytes()).toEqual([]);
    });

    it('are refused where a byte of them was changed, and nothing is written', async () => {
      const [from, to] = [await deployment(), await deployment()];
      await begin(from);
      const { archive } = await archived(from, ALL_RUNS);
      const names = (await archive.names()).filter((name) => name.startsWith('chunk'));
      for (const damaged of names) {
        const source: ChunkSource = {
          names: () => archive.names(),
          async read(name) {
            const bytes = Buffer.from((await archive.read(name)) ?? []);
            if (name === damaged) bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
            return bytes;
          },
        };
        await expect(restoreRuns(to.instance.runtime, source, ALL_RUNS)).rejects.toThrow(damaged);
      }
      expect(await contentOf(store(), to.scope)).toEqual([]);
      await expect(verifyRuns(archive, ALL_RUNS)).resolves.toMatchObject({ active: 4 });
      const of = { tenantId: randomUUID(), productId: null };
      const other = await archived(from, of);
      await expect(verifyRuns(other.archive, { ...of, tenantId: 'x' })).rejects.toMatchObject({
        fault: 'other_tenant',
      });
    });

    it('of one tenant are continued by the next restore, wherever the one before broke off', async () => {
      const from = await deployment();
      const begun = await begin(from);
      const of = { tenantId: begun.tenantId, productId: null };
      const { archive } = await archived(from, of);
      for (const steps of [0, 1, 2, 3, 5]) {
        const to = await deployment();
        to.clock.now += 60_000;
        const { runtime } = to.instance;
        const broken = await restoreRuns(dyingAfter(steps, runtime), archive, of).then(
          () => false,
          () => true,
        );
        if (broken) await restoreRuns(runtime, archive, of);
        await goOn(to, begun);
      }
    });

    it('of one tenant restart after its restored runs were removed', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      const of = { tenantId: begun.tenantId, productId: null };
      const { archive } = await archived(from, of);
      to.clock.now += 60_000;
      const { runtime } = to.instance;
      await expect(restoreRuns(dyingAfter(3, runtime), archive, of)).rejects.toThrow('gone');
      expect(await existingRuns(runtime, of)).toEqual({ runs: 5, active: 4 });
      await removeRuns(runtime, of, { cancel: true });
      await restoreRuns(runtime, archive, of);
      await goOn(to, begun);
    });

    it('of one tenant replace a new run that has taken the key of an archived one', async () => {
      const [from, to] = [await deployment(), await deployment()];
      const begun = await begin(from);
      const { tenantId, key: idempotencyKey } = begun;
      const of = { tenantId, productId: null };
      const { archive } = await archived(from, of);
      to.clock.now += 60_000;
      const { runtime } = to.instance;
      await expect(restoreRuns(dyingAfter(1, runtime), archive, of)).rejects.toThrow('gone');
      const scope = scopeOf('copies', tenantId);
      const { id } = await to.client.start({ handlerId: HANDLER, scope, idempotencyKey });
      await expect(restoreRuns(runtime, archive, of)).rejects.toMatchObject({ conflict: 'key_taken' });
      expect((await to.client.start({ handlerId: HANDLER, scope, idempotencyKey })).id).toBe(id);
      await restoreRuns(runtime, archive, of, { replace: true });
      await goOn(to, begun);
    });

    it('that are never continued leave their keys free, and nothing after a week or a removal', async () => {
      const from = await deployment();
      const begun = await begin(from);
      const { tenantId, key: idempotencyKey } = begun;
      const of = { tenantId, productId: null };
      const { archive } = await archived(from, of);
      for (const end of ['removal', 'prune']) {
        const to = await deployment();
        to.clock.now += 60_000;
        const { runtime } = to.instance;
        await expect(restoreRuns(dyingAfter(2, runtime), archive, of)).rejects.toThrow('gone');
        const ofRun = async () =>
          (await contentOf(store(), to.scope)).filter((line) => line.includes(begun.held));
        expect(await ofRun()).not.toEqual([]);
        // Not another tenant's removal, while the restore may still go on.
        await removeRuns(runtime, { tenantId: randomUUID(), productId: null }, { cancel: true });
        expect(await ofRun()).not.toEqual([]);
        if (end === 'removal') await removeRuns(runtime, of, { cancel: true });
        to.clock.now += 8 * 86_400_000;
        await to.client.prune({ dryRun: false, retainTerminalRuns: 500 });
        expect(await ofRun()).toEqual([]);
        const blobs = await runtime.blobs?.();
        expect((await blobs?.list(`artifacts/${begun.held}/`, { limit: 10 }))?.keys).toEqual([]);
        const scope = scopeOf('copies', tenantId);
        await to.client.start({ handlerId: HANDLER, scope, idempotencyKey });
      }
    });
  });

  describe('the removal of the runs of a tenant', () => {
    it('refuses active runs unless they are cancelled, and leaves nothing of the tenant', async () => {
      const room = await deployment();
      const begun = await begin(room);
      const neighbour = await begin(room);
      const { runtime } = room.instance;
      const of = { tenantId: begun.tenantId, productId: null };
      const kept = await linesWith(room, neighbour.tenantId);
      await expect(removeRuns(runtime, of, { cancel: false })).rejects.toMatchObject({
        conflict: 'active_runs',
      });
      await removeRuns(runtime, of, { cancel: true });
      expect(await linesWith(room, begun.tenantId)).toEqual([]);
      expect(await existingRuns(runtime, of)).toEqual({ runs: 0, active: 0 });
      expect(await linesWith(room, neighbour.tenantId)).toEqual(kept);
      const blobs = await runtime.blobs?.();
      expect((await blobs?.list(`artifacts/${begun.held}/`, { limit: 10 }))?.keys).toEqual([]);
      expect((await blobs?.list(`artifacts/${neighbour.held}/`, { limit: 10 }))?.keys).toHaveLength(1);
      expect((await accountForRuns(runtime)).faults).toEqual([]);
    });
  });

  async function recordsOf({ scope }: ReturnType<typeof ownRuns>, collection: string) {
    const records: RecordData[] = [];
    for await (const page of store().scan(scope, { collections: [collection], pageSize: 100 }))
      records.push(...page.records);
    return records;
  }

  /** All records that name the tenant, in head, body or listing. */
  async function linesWith({ scope }: ReturnType<typeof ownRuns>, tenantId: string): Promise<string[]> {
    return (await contentOf(store(), scope)).filter((line) => line.includes(tenantId));
  }
}
