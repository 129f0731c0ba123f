import { describe, expect, it } from 'vitest';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { acquireRunLease, scheduleRunTimer } from '../../functions/runs/run-owned.ts';
import { HANDLER, leased, ownRuns, someKey, working } from './execution-fixtures.ts';
import { describeAccount } from './execution-maintenance-account.ts';
import { describePruneFaults } from './execution-maintenance-faults.ts';
import { contentOf, endedRuns, rich, roomForBytes } from './execution-maintenance-fixtures.ts';
import { describeReconcile } from './execution-maintenance-reconcile.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const HOUR = 3_600_000;
const all = { dryRun: false, retainTerminalRuns: 0 };

export function describeMaintenance(conformance: ExecutionConformance): void {
  const { store } = conformance;

  describe('maintenance status', () => {
    it('counts the runs of each status and their records', async () => {
      const { client } = ownRuns(store());
      await endedRuns(client, 3);
      const { run, work } = await working(client);
      await client.putArtifact({ ...work, artifact: { name: 'a', text: 'x' } });
      await client.raise(run.id, { name: 'later' });
      await client.start({ handlerId: HANDLER });
      const parked = await working(client);
      await client.wait({ ...parked.work, kind: 'external_event', name: 'never' });
      const answer = await client.maintenance();
      const none = { failed: 0, cancelled: 0, rejected: 0, timed_out: 0 };
      expect(answer.runCounts).toEqual({ queued: 1, running: 1, waiting: 1, succeeded: 3, ...none });
      const events = 3 * 4 + 5 + 1 + 4;
      expect(answer.rowCounts).toEqual({
        runs: 6,
        events,
        artifacts: 1,
        externalEvents: 1,
        waits: 1,
        waitOutcomes: 0,
        externalEventConsumptions: 0,
        checkpoints: 0,
        leases: 0,
        timers: 0,
      });
      expect(answer).toMatchObject({
        adapterId: 'local-test',
        retentionScope: 'run_owned',
        maxRetainedTerminalRuns: 500,
        artifactDirectoryCount: null,
        artifactFileCount: null,
      });
    });

    it('counts the records of runs, and the outcomes that their holders took', async () => {
      const { client, instance, clock } = ownRuns(store());
      const { run, work } = await working(client);
      for (const key of ['one', 'two'])
        await client.putCheckpoint({ ...work, checkpoint: { key, content: {} } });
      const held = { runId: run.id, tokenHash: sha256(work.leaseToken), workerId: work.workerId };
      const lease = { name: `shared-${run.id}`, ttlSeconds: 60, metadata: {}, scope: null };
      await acquireRunLease(instance.runtime, held, lease, clock.now);
      const timer = { name: 'later', fireAt: clock.now + 5_000, payload: null };
      await scheduleRunTimer(instance.runtime, held, timer, clock.now);
      await client.raise(run.id, { name: 'e' });
      await client.wait({ ...work, kind: 'external_event', name: 'e' });
      expect((await client.maintenance()).rowCounts).toMatchObject({
        checkpoints: 2,
        leases: 1,
        timers: 1,
        externalEvents: 0,
        waitOutcomes: 1,
        externalEventConsumptions: 1,
      });
    });

    it('counts large artifacts where they lie', async () => {
      const blobs = await roomForBytes();
      const { client } = ownRuns(store(), { blobs, options: { artifactInlineBytesMax: 10 } });
      const { work } = await working(client);
      for (const name of ['a', 'b']) {
        await client.putArtifact({ ...work, artifact: { name, text: 'more than ten characters' } });
      }
      await client.putArtifact({ ...work, artifact: { name: 'c', text: 'short' } });
      expect(await client.maintenance()).toMatchObject({
        artifactDirectoryCount: 1,
        artifactFileCount: 2,
        artifactBytes: 2 * 'more than ten characters'.length,
      });
      await blobs.close();
    });
  });

  describe('prune', () => {
    it('a dry run, the default, shows the runs that a prune then removes', async () => {
      const { client, scope } = ownRuns(store());
      const ids = await endedRuns(client, 5);
      const active = await client.start({ handlerId: HANDLER });
      const before = await contentOf(store(), scope);
      const shown = await client.prune({ retainTerminalRuns: 2 });
      expect(shown).toMatchObject({ dryRun: true, retainTerminalRuns: 2, runs: 3, events: 12 });
      expect(shown.runIds).toEqual(ids.slice(0, 3).reverse());
      expect(await contentOf(store(), scope)).toEqual(before);
      const done = await client.prune({ dryRun: false, retainTerminalRuns: 2 });
      expect(done).toEqual({ ...shown, dryRun: false });
      expect((await client.list()).map(({ id }) => id)).toEqual([active.id, ids[4], ids[3]]);
      expect((await client.prune({ dryRun: false, retainTerminalRuns: 2 })).runs).toBe(0);
    });

    it('keeps the newest of all ends together, by the number in the settings', async () => {
      const { client } = ownRuns(store(), { options: { retainedRunsMax: 2 } });
      const cancelled = await client.start({ handlerId: HANDLER });
      const [succeeded] = await endedRuns(client, 1);
      const failed = await working(client);
      await client.complete({ ...failed.work, result: { status: 'failed', failureClass: 'x' } });
      const later = await client.start({ handlerId: HANDLER });
      await client.cancel(later.id);
      await client.cancel(cancelled.id);
      const { runIds } = await client.prune({ dryRun: false });
      expect(runIds).toEqual([succeeded, cancelled.id]);
      expect((await client.list()).map(({ id }) => id)).toEqual([later.id, failed.run.id]);
    });

    it('removes a run with every kind of record that belongs to it', async () => {
      const blobs = await roomForBytes();
      const own = ownRuns(store(), {
        blobs,
        options: { artifactInlineBytesMax: 1_000 },
        external: [{ handlerId: HANDLER, concurrencyKey: 'one' }],
      });
      const { client, scope } = own;
      const id = await rich(own);
      await endedRuns(client, 1, { idempotencyKey: someKey() });
      const shown = await client.prune({ retainTerminalRuns: 0 });
      expect(shown).toMatchObject({ runs: 2, artifacts: 3, checkpoints: 120, timers: 1, leases: 1 });
      expect(shown).toMatchObject({ externalEvents: 2, artifactDirectories: 1 });
      const done = await client.prune(all);
      expect(done).toEqual({ ...shown, dryRun: false });
      expect(done.runIds).toContain(id);
      // A late writer may still store bytes for an hour: only this record remains.
      expect(await kindsOf(own.scope)).toEqual(['counters', 'remains']);
      expect((await blobs.list('artifacts/', { limit: 10 })).keys).toEqual([]);
      own.clock.now += HOUR;
      await client.prune(all);
      expect(await contentOf(store(), scope)).toEqual([expect.stringContaining('"active":0')]);
      await blobs.close();
    });

    it('removes bytes that a late writer stored after its run was removed', async () => {
      const blobs = await roomForBytes();
      const own = ownRuns(store(), { blobs });
      const [id = ''] = await endedRuns(own.client, 1);
      await own.client.prune(all);
      const bytes = new TextEncoder().encode('late');
      const late = { contentType: 'text/plain', sha256: sha256(bytes), metadata: {} };
      await blobs.put(`artifacts/${id}/07368312345678900001.txt`, bytes, late);
      own.clock.now += HOUR - 1;
      await own.client.prune(all);
      expect((await blobs.list('artifacts/', { limit: 10 })).keys).toHaveLength(1);
      own.clock.now += 1;
      await own.client.prune(all);
      expect((await blobs.list('artifacts/', { limit: 10 })).keys).toEqual([]);
      expect(await kindsOf(own.scope)).toEqual(['counters']);
      await blobs.close();
    });

    it('removes each run once, however many prune at once', async () => {
      const { client } = ownRuns(store());
      const ids = await endedRuns(client, 12);
      const rivals = Array.from({ length: 4 }, () => client.prune({ dryRun: false, retainTerminalRuns: 2 }));
      const removed = (await Promise.all(rivals)).flatMap(({ runIds }) => runIds);
      expect(removed.sort()).toEqual(ids.slice(0, 10));
      expect(await client.list()).toHaveLength(2);
    });

    it('gives its key free: the next start with it is another run', async () => {
      const { client } = ownRuns(store());
      const idempotencyKey = someKey();
      const [first] = await endedRuns(client, 1, { idempotencyKey });
      expect((await client.start({ handlerId: HANDLER, idempotencyKey })).id).toBe(first);
      await client.prune(all);
      const again = await client.start({ handlerId: HANDLER, idempotencyKey });
      expect(again.id).not.toBe(first);
      expect(again.status).toBe('queued');
      expect((await client.start({ handlerId: HANDLER, idempotencyKey })).id).toBe(again.id);
    });

    it('beside starts with the same keys answers only runs that were there', async () => {
      const { client, scope } = ownRuns(store());
      const keys = Array.from({ length: 6 }, someKey);
      const ids = new Map<string, string>();
      for (const idempotencyKey of keys) {
        const [id = ''] = await endedRuns(client, 1, { idempotencyKey });
        ids.set(idempotencyKey, id);
      }
      const starts = keys
        .flatMap((key) => [key, key])
        .map(async (idempotencyKey) => {
          try {
            return { idempotencyKey, run: await client.start({ handlerId: HANDLER, idempotencyKey }) };
          } catch (error) {
            if (error instanceof ServiceError && error.code === 'store_contention') return null;
            throw error;
          }
        });
      const [pruned, ...started] = await Promise.all([client.prune(all), ...starts]);
      const gone = new Set(pruned !== null && 'runIds' in pruned ? pruned.runIds : []);
      expect(gone.size).toBe(6);
      for (const each of started) {
        if (each === null || 'runIds' in each) continue;
        // Either the run of before, as it was, or a new one that is still there.
        if (each.run.id === ids.get(each.idempotencyKey)) expect(each.run.status).toBe('succeeded');
        else expect((await client.get(each.run.id)).status).toBe('queued');
      }
      const left = await contentOf(store(), scope);
      const runs = left.filter((line) => line.startsWith('runs')).length;
      expect(left.filter((line) => line.startsWith('admissions'))).toHaveLength(runs);
      await leased(client, (await client.start({ handlerId: HANDLER })).id);
    });
  });

  async function kindsOf(scope: Parameters<typeof contentOf>[1]): Promise<string[]> {
    const lines = await contentOf(store(), scope);
    return [...new Set(lines.map((line) => line.split(' ')[0] ?? ''))].sort();
  }

  describePruneFaults(conformance);
  describeReconcile(conformance);
  describeAccount(conformance);
}
