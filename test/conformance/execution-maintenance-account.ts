import { describe, expect, it } from 'vitest';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { activeCounterKey, runKey } from '../../functions/runs/records.ts';
import type { RecordData } from '../../functions/store/port.ts';
import { HANDLER, ownRuns, storedRun, working } from './execution-fixtures.ts';
import { endedRuns } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

export function describeAccount({ store }: ExecutionConformance): void {
  describe('the account of all runs', () => {
    it('is in order for runs of every status', async () => {
      const { client, clock, instance } = ownRuns(store());
      await endedRuns(client, 1);
      const queued = await client.start({ handlerId: HANDLER });
      const scheduledAtUtc = new Date(clock.now + 1_000).toISOString();
      await client.start({ handlerId: HANDLER, scheduledAtUtc });
      const held = await working(client);
      await client.heartbeat({ ...held.work, ttlSeconds: 5_000 });
      for (const kind of ['external_event', 'timer'] as const) {
        const { work } = await working(client);
        const fireAtUtc = kind === 'timer' ? new Date(clock.now + 5_000).toISOString() : null;
        await client.wait({ ...work, kind, name: 'w', fireAtUtc });
      }
      expect(await accountForRuns(instance.runtime)).toEqual({ runs: 5, faults: [], more: false });
      const report = await accountForRuns(instance.runtime, { hasMessage: ({ id }) => id !== queued.id });
      expect(report.faults).toEqual([{ runId: queued.id, fault: 'the queue has no message for it' }]);
    });

    it('finds runs that nothing would find, and counts that are wrong', async () => {
      const { client, instance, scope } = ownRuns(store());
      const { run } = await working(client);
      const put = (record: RecordData) =>
        store().transact(scope, { keys: [{ key: record.key }] }, () => ({
          writes: [{ put: record }],
          result: null,
        }));
      const key = runKey(run.id);
      const { id, status, handlerId, attempt, lease } = await storedRun(client, run.id);
      const head = { id, status, handlerId, attempt, leaseExpiresAt: lease?.expiresAt ?? null };
      await put({ key, head });
      const { faults } = await accountForRuns(instance.runtime);
      expect(faults).toEqual([{ runId: run.id, fault: 'it has no due time' }]);
      await put({ key, head, due: (lease?.expiresAt ?? 0) + 600_000 });
      expect((await accountForRuns(instance.runtime)).faults[0]?.fault).toBe('its due time is too late');
      await put({ key, head, listing: null, due: lease?.expiresAt ?? null });
      const unlisted = (await accountForRuns(instance.runtime)).faults[0]?.fault;
      expect(unlisted).toBe('lists do not find it by its status');
      await put({ key: activeCounterKey(0), head: { active: 3 } });
      expect((await accountForRuns(instance.runtime)).faults.at(-1)).toEqual({
        runId: null,
        fault: 'a counter says 3 active runs, but there are 1',
      });
    });
  });
}
