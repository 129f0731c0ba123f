import { describe, expect, it } from 'vitest';
import type { RunMessage, RunQueue } from '../../functions/queue/port.ts';
import { reconcile, reconcileAll } from '../../functions/runs/maintenance/reconcile.ts';
import { runKey } from '../../functions/runs/records.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { HANDLER, OTHER, ownRuns, working } from './execution-fixtures.ts';
import { contentOf } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const MINUTE = 60_000;
const every = { dryRun: false, limit: 1_000 };

/** Takes each message once, and forgets it. */
function deaf(runtime: Runtime, refuses: (message: RunMessage) => boolean = () => false) {
  const messages = new Map<string, RunMessage>();
  const queue = {
    enqueue: (message: RunMessage) => {
      if (refuses(message)) return Promise.reject(new Error('the queue at 10.0.0.1 is away'));
      const { runId, reason, attempt, repeatKey = '' } = message;
      messages.set([runId, reason, attempt, repeatKey].join(' '), message);
      return Promise.resolve();
    },
  };
  return { runtime: { ...runtime, queue }, messages };
}

export function describeReconcile({ store }: ExecutionConformance): void {
  describe('reconcile', () => {
    it('sends messages again for runs that are queued for a minute, ever more rarely', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const first = await client.start({ handlerId: HANDLER });
      await later(MINUTE / 2);
      const second = await client.start({ handlerId: OTHER });
      const { runtime, messages } = deaf(instance.runtime);
      const found = async () => {
        const before = messages.size;
        const shown = await reconcile(runtime, { ...every, dryRun: true }, clock.now);
        expect([messages.size, shown.dispatched]).toEqual([before, 0]);
        const { candidateRunIds } = await reconcile(runtime, every, clock.now);
        expect(shown.candidateRunIds).toEqual(candidateRunIds);
        return candidateRunIds;
      };
      await later(MINUTE / 2 - 1);
      expect(await found()).toEqual([]);
      await later(1);
      expect(await found()).toEqual([first.id]);
      await later(MINUTE / 2);
      const rivals = await Promise.all([1, 2].map(() => reconcile(runtime, every, clock.now)));
      for (const { candidateRunIds } of rivals) expect(candidateRunIds).toEqual([first.id, second.id]);
      expect(messages.size).toBe(2);
      // After 1, 2, 4, 8 and 16 minutes.
      for (let minutes = 0; minutes < 17; minutes += 1) {
        await later(MINUTE);
        await found();
      }
      expect([...messages.values()].filter(({ runId }) => runId === first.id)).toHaveLength(5);
      for (const message of messages.values()) {
        expect(message).toMatchObject({ reason: 'run_ready', attempt: 0 });
        expect(message.repeatKey).toMatch(/^redrive [0-9]+ [0-4]$/);
      }
    });

    it('redrives a run also when it is written to while it is queued', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const { id } = await client.start({ handlerId: HANDLER });
      const { runtime, messages } = deaf(instance.runtime);
      for (let minutes = 0; minutes < 4; minutes += 1) {
        await later(MINUTE - 1_000);
        await client.raise(id, { name: 'more' });
        await later(1_000);
        await reconcile(runtime, every, clock.now);
      }
      // After 1, 2 and 4 minutes.
      expect(messages.size).toBe(3);
    });

    it('notifies the queue of several runs together, ends in time, and reports the failures', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const lapsed = await Promise.all(Array.from({ length: 20 }, () => working(client)));
      await later(700_000);
      let under = 0;
      let most = 0;
      const queue: RunQueue = {
        async enqueue() {
          under += 1;
          most = Math.max(most, under);
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
          under -= 1;
          throw new Error('the queue does not answer');
        },
      };
      const summary = await reconcileAll({ ...instance.runtime, queue }, clock.now, {
        deadline: clock.now + 1,
      });
      expect(summary).toMatchObject({ settled: lapsed.length, failed: lapsed.length });
      expect(most).toBeGreaterThan(4);
    });

    it('finds the messages that a queue lost: every run ends', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const lost = deaf(instance.runtime);
      Object.assign(instance.runtime, { queue: lost.runtime.queue, ready: null });
      const ids = [];
      for (let made = 0; made < 3; made += 1) ids.push((await client.start({ handlerId: HANDLER })).id);
      await later(MINUTE);
      const heard = deaf(instance.runtime);
      await reconcileAll(heard.runtime, clock.now, { deadline: clock.now + 1 });
      expect([...heard.messages.values()].map(({ runId }) => runId).sort()).toEqual(ids);
    });

    it('settles due runs, and a dry run shows them without a change', async () => {
      const { client, clock, later, scope, instance } = ownRuns(store());
      const lapsed = await working(client);
      const timed = await working(client);
      const fireAtUtc = new Date(clock.now + 700_000).toISOString();
      await client.wait({ ...timed.work, kind: 'timer', name: 't', fireAtUtc });
      const waiting = await working(client);
      await client.wait({ ...waiting.work, kind: 'external_event', name: 'e' });
      await later(700_000);
      const before = await contentOf(store(), scope);
      const shown = await client.reconcile({ dryRun: true });
      const due = [lapsed.run.id, timed.run.id].sort();
      expect(shown).toMatchObject({ dryRun: true, candidateRunIds: due, dispatched: 0, failures: {} });
      expect(await contentOf(store(), scope)).toEqual(before);
      expect(await client.reconcile()).toMatchObject({ candidateRunIds: due, dispatched: 2, limit: 1_000 });
      for (const id of due) expect((await client.get(id)).status).toBe('queued');
      expect((await client.get(waiting.run.id)).status).toBe('waiting');
      // Where the queue is in this process it was notified; elsewhere a task was made.
      if (instance.runtime.queue === instance.queue) expect(instance.queue.take([HANDLER])).not.toBeNull();
      expect(await client.reconcile()).toMatchObject({ candidateRunIds: [], dispatched: 0 });
    });

    it('handles the requested number of runs, the earliest due first', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const queued = await client.start({ handlerId: HANDLER });
      const lapsed = await Promise.all(Array.from({ length: 3 }, () => working(client)));
      const due = lapsed.map(({ run }) => run.id);
      await later(700_000);
      const two = await client.reconcile({ limit: 2 });
      expect(two).toMatchObject({ dispatched: 2, limit: 2 });
      const shown = await client.reconcile({ dryRun: true, limit: 1 });
      expect(shown.candidateRunIds).toHaveLength(1);
      const rest = await client.reconcile({ limit: 2 });
      expect([...two.candidateRunIds, ...rest.candidateRunIds].sort()).toEqual([queued.id, ...due].sort());
      const all = await reconcileAll(instance.runtime, clock.now, { deadline: clock.now });
      expect(all).toMatchObject({ settled: 0, redriven: 0, more: true });
    });

    it('collects refusals of the queue, without its own error texts', async () => {
      const { client, clock, later, instance } = ownRuns(store());
      const bad = await client.start({ handlerId: HANDLER });
      const good = await client.start({ handlerId: HANDLER });
      await later(MINUTE);
      const { runtime, messages } = deaf(instance.runtime, ({ runId }) => runId === bad.id);
      const found = await reconcile(runtime, every, clock.now);
      expect(found).toEqual({
        candidateRunIds: [bad.id, good.id],
        dispatched: 1,
        failures: { [bad.id]: 'The queue could not be notified of the run' },
      });
      expect([...messages.values()].map(({ runId }) => runId)).toEqual([good.id]);
      const summary = await reconcileAll(runtime, clock.now, { deadline: clock.now + 1, account: true });
      expect(summary).toEqual({
        settled: 0,
        redriven: 1,
        failed: 1,
        failures: found.failures,
        more: false,
        account: { runs: 2, faulty: 0, faults: [] },
      });
    });

    it('collects runs that cannot be ended, and continues with the others', async () => {
      const { client, clock, later, instance } = ownRuns(store(), { options: { leaseExpirationsMax: 1 } });
      const runs = await Promise.all(Array.from({ length: 3 }, () => working(client)));
      const bad = runs[1]?.run.id ?? '';
      await later(700_000);
      const { runtime } = instance;
      const failing = patched(store(), {
        transact: (scope, request, decide) =>
          request.gate?.id === runKey(bad).id
            ? Promise.reject(new Error('password=secret'))
            : store().transact(scope, request, decide),
      });
      const found = await reconcile({ ...runtime, store: () => Promise.resolve(failing) }, every, clock.now);
      expect(found.failures).toEqual({ [bad]: 'The run could not be settled' });
      expect(found.dispatched).toBe(2);
      const statuses = await Promise.all(runs.map(async ({ run }) => (await client.get(run.id)).status));
      expect(statuses).toEqual(['failed', 'running', 'failed']);
    });
  });
}
