import { describe, expect, test } from 'vitest';
import { changeRun } from '../../functions/runs/change-run.ts';
import { ALL_RUNS } from '../../functions/runs/copies/archive-lines.fixture.ts';
import { restoreRuns } from '../../functions/runs/copies/restore-runs.ts';
import { cancelRun } from '../../functions/runs/rules/cancel.ts';
import type { Run } from '../../functions/runs/run.ts';
import { again, child, finish, waitFor } from './execution-children-stage.ts';
import { archived } from './execution-copies-runs.ts';
import { ownRuns } from './execution-fixtures.ts';
import { begun } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Copies of parents and children. */
export function describeChildCopies({ store }: ExecutionConformance): void {
  describe('copies of a parent and its children', () => {
    test('go on: an ended child keeps its outcome, and an active one queues its parent', async () => {
      const [from, to] = [ownRuns(store()), ownRuns(store())];
      const { id, proof } = await begun(from.client);
      const [done, active] = [
        await child(from.client, proof, 'done'),
        await child(from.client, proof, 'active'),
      ];
      await finish(from.client, done, { status: 'succeeded', result: 7 });
      await waitFor(from.client, proof, active);
      const { archive } = await archived(from, ALL_RUNS);
      to.clock.now += 60_000;
      await restoreRuns(to.instance.runtime, archive, ALL_RUNS);
      expect(await to.client.get(id)).toMatchObject({ status: 'waiting' });
      await finish(to.client, active);
      const next = await again(to.client, id);
      const outcomeOf = async (runId: string) => (await waitFor(to.client, next, runId)).outcome?.run;
      expect(await outcomeOf(active)).toMatchObject({ status: 'succeeded' });
      expect(await outcomeOf(done)).toMatchObject({ status: 'succeeded', result: 7 });
      expect(await child(to.client, next, 'done')).toBe(done);
    });

    test('go on with a cancellation whose children were not cancelled yet', async () => {
      const [from, to] = [ownRuns(store()), ownRuns(store())];
      const { id, proof } = await begun(from.client);
      const runId = await child(from.client, proof, 'c', { cancelWithParent: true });
      const { now } = from.clock;
      await changeRun(from.instance.runtime, { runId: id, now, mayEnd: true }, (run) => ({
        change: cancelRun(run as Run, now),
        result: null,
      }));
      const { archive } = await archived(from, ALL_RUNS);
      await restoreRuns(to.instance.runtime, archive, ALL_RUNS);
      expect(await to.client.get(runId)).toMatchObject({ status: 'queued' });
      to.clock.now += 600_000;
      await to.client.reconcile({ dryRun: false });
      expect(await to.client.get(runId)).toMatchObject({ status: 'cancelled' });
    });
  });
}
