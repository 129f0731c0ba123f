import { describe, expect, it } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { isWhole, QUIET_MS, readIndexState } from '../../functions/runs/index-mark.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { reconcileAll } from '../../functions/runs/maintenance/reconcile.ts';
import { activeCounterKey, RUN_INDEX, runKey, runShareKey, tagIndex } from '../../functions/runs/records.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import { HANDLER, ownRuns, scopeOf } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** A server of release 0.5.0 over the same store, played by the records that it writes. */

const CALLER = { kind: 'workload', principal: 'reader@example.test' } as const;
const GRANT: ExecutionGrant = {
  principal: CALLER.principal,
  productId: 'p',
  workerId: null,
  tenantIds: ['mine'],
  handlerIds: [],
  operations: ['read_run', 'start_run'],
};
const mine = scopeOf('p', 'mine');

/** The indexes of release 0.5.0, which follow from the stored body alone. */
function indexesOf(run: Run): Record<string, string> {
  const indexes: Record<string, string> = { handler: run.handlerId, status: run.status };
  if (run.status === 'queued') indexes['lane'] = run.handlerId;
  if (run.pluginId !== null) indexes['plugin'] = run.pluginId;
  if (run.correlationId !== run.id) indexes['correlation'] = run.correlationId;
  for (const [name, value] of Object.entries(run.tags)) indexes[tagIndex(name)] = value;
  return indexes;
}

function opened(store: RecordStore) {
  const options = { activeRunsMax: 100, runShareMax: 3 };
  const { instance, clock, scope } = ownRuns(store, { options, access: createExecutionAccess([GRANT]) });
  const { runtime } = instance;
  const owner = ownRuns(store, { scope, node: 3, options }).client;
  const reader = new ExecutionClient(instance, CALLER);
  const start = async () => (await owner.start({ handlerId: HANDLER, scope: mine })).id;
  /** Changes a run as 0.5.0 does: it reads the body, and writes the body, the indexes and, when the run ends, the counter. */
  const change = async (id: string, by: (run: Run) => Partial<Run>) => {
    const counter = activeCounterKey(0);
    await store.transact(scope, { keys: [{ key: runKey(id), view: 'body' }, { key: counter }] }, (found) => {
      const record = found.get(runKey(id)) ?? expect.fail();
      const before = JSON.parse(record.body ?? '') as Run;
      const run = { ...before, ...by(before) };
      const listing = { group: 'run', id, hidden: false, indexes: indexesOf(run) };
      const head = { ...record.head, status: run.status };
      const put = { ...record, head, body: JSON.stringify(run), listing, due: null };
      const active = Number(found.get(counter)?.head.active ?? 0) - 1;
      const ended = before.counted && !run.counted ? [{ put: { key: counter, head: { active } } }] : [];
      return { writes: [{ put }, ...ended], result: null };
    });
  };
  return {
    clock,
    owner,
    reader,
    runtime,
    start,
    change,
    end: (id: string) =>
      change(id, () => ({
        status: 'succeeded',
        counted: false,
        completedAt: clock.now,
        updatedAt: clock.now,
      })),
    /** A run as 0.5.0 stores it: without index, without share, counted in all. */
    startEarlier: async () => {
      const id = await start();
      const counter = activeCounterKey(0);
      const share = runShareKey(mine, 0);
      const keys = [{ key: runKey(id), view: 'body' as const }, { key: counter }, { key: share }];
      await store.transact(scope, { keys }, (found) => {
        const record = found.get(runKey(id)) ?? expect.fail();
        const { sharesCounted: _, shareShard: __, ...run } = JSON.parse(record.body ?? '') as Run;
        const stored = { ...run, tags: {} };
        const listing = { group: 'run', id, hidden: false, indexes: indexesOf(stored) };
        const shared = Number(found.get(share)?.head.active ?? 0) - 1;
        const less = shared === 0 ? { remove: share } : { put: { key: share, head: { active: shared } } };
        const active = Number(found.get(counter)?.head.active ?? 0);
        const put = { ...record, body: JSON.stringify(stored), listing };
        return { writes: [{ put }, { put: { key: counter, head: { active } } }, less], result: null };
      });
      return id;
    },
    indexOf: async (id: string) => {
      const { records } = await store.query(scope, { by: 'keys', keys: [{ key: runKey(id), view: 'body' }] });
      return records[0]?.listing?.indexes[RUN_INDEX.scope];
    },
    counterOf: async (key = runShareKey(mine, 0)) => {
      const { records } = await store.query(scope, { by: 'keys', keys: [{ key }] });
      return Number(records[0]?.head.active ?? 0);
    },
    repair: () => reconcileAll(runtime, clock.now, { deadline: clock.now + 1 }),
    idsOf: async () => (await reader.list()).map(({ id }) => id),
  };
}

/** The index is in use, and this process knows it. */
async function settled(given: ReturnType<typeof opened>): Promise<void> {
  await given.idsOf();
  expect(await given.idsOf()).toEqual([]);
}

export function describeUpgrade({ store }: ExecutionConformance): void {
  describe('runs that a server of 0.5.0 has over the same store', () => {
    it('stay in the lists of their owner when that server changes them', async () => {
      const given = opened(store());
      await settled(given);
      const [active, over] = [await given.start(), await given.start()];
      await given.change(active, () => ({ status: 'waiting' }));
      await given.end(over);
      given.clock.now += QUIET_MS;
      expect(await given.indexOf(active), 'the index stays with the run').toBeDefined();
      expect(await given.idsOf()).toEqual([over, active]);
      const [run] = await given.reader.list({ status: 'waiting' });
      expect(run?.tags, 'the service keeps its tags to itself').toEqual({});
    });

    it('are listed when that server starts them, before and after a repair', async () => {
      const given = opened(store());
      await settled(given);
      const id = await given.startEarlier();
      expect(await given.indexOf(id)).toBeUndefined();
      given.clock.now += 1_000;
      expect(await given.idsOf(), 'the index is not relied on').toEqual([id]);
      await given.repair();
      expect(await given.indexOf(id)).toBeDefined();
      // The old server continues to write: a repair makes the index whole only for now.
      const later = await given.startEarlier();
      expect(await given.idsOf()).toEqual([later, id]);
      await given.repair();
      given.clock.now += QUIET_MS;
      await given.repair();
      given.clock.now += 1_000;
      expect(await given.idsOf()).toEqual([later, id]);
      expect((await accountForRuns(given.runtime)).faults).toEqual([]);
    });

    it('are whole in the index again ten minutes after, though a clock had jumped ahead', async () => {
      const given = opened(store());
      await settled(given);
      await given.startEarlier();
      const ahead = 10 * 86_400_000;
      given.clock.now += ahead;
      await given.repair();
      given.clock.now -= ahead;
      await given.repair();
      expect((await readIndexState(given.runtime)).mark.repairedAt).toBe(given.clock.now);
      expect(isWhole(await readIndexState(given.runtime))).toBe(false);
      given.clock.now += QUIET_MS;
      await given.repair();
      expect(isWhole(await readIndexState(given.runtime))).toBe(true);
      // The index is whole, and the last repair lies ahead: another one follows.
      given.clock.now += ahead;
      await given.repair();
      given.clock.now -= ahead;
      await given.repair();
      expect((await readIndexState(given.runtime)).mark.repairedAt).toBe(given.clock.now);
    });

    it('leave their share when that server ends them', async () => {
      const given = opened(store());
      for (let n = 0; n < 3; n += 1) await given.end(await given.start());
      expect(await given.counterOf()).toBe(3);
      // Three have ended, so the share of three has room, though its counter is full.
      const own = await given.start();
      expect(await given.counterOf()).toBe(4);
      expect((await accountForRuns(given.runtime)).faults).toHaveLength(1);
      await given.repair();
      expect(await given.counterOf()).toBe(1);
      expect((await accountForRuns(given.runtime)).faults).toEqual([]);
      for (let n = 0; n < 2; n += 1) await given.start();
      await refused('queue_full', given.owner.start({ handlerId: HANDLER, scope: mine }));
      await given.owner.cancel(own);
      await given.start();
    });

    it('are counted right by repairs beside starts and ends', async () => {
      const given = opened(store());
      for (let n = 0; n < 3; n += 1) await given.end(await given.start());
      const work = async () => given.owner.cancel(await given.start());
      await Promise.all([given.repair(), work(), given.repair(), work()]);
      await given.end(await given.start());
      await given.repair();
      expect(await given.counterOf()).toBe(0);
      expect(await given.counterOf(activeCounterKey(0))).toBe(0);
      expect((await accountForRuns(given.runtime)).faults).toEqual([]);
    });

    it('are counted right when a second repair overtakes the first', async () => {
      const given = opened(store());
      for (let n = 0; n < 3; n += 1) await given.end(await given.start());
      await given.start();
      const overtaken = new Proxy(await given.runtime.store(), {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          if (name !== 'snapshot') return value.bind(target);
          return async (...call: unknown[]) => {
            const answer: unknown = await Reflect.apply(value, target, call);
            // The first has compared all counters, and corrects none before the second is done.
            await given.repair();
            return answer;
          };
        },
      });
      const runtime = { ...given.runtime, store: () => Promise.resolve(overtaken) };
      await reconcileAll(runtime, given.clock.now, { deadline: given.clock.now + 1 });
      expect(await given.counterOf()).toBe(1);
      expect((await accountForRuns(given.runtime)).faults).toEqual([]);
    });

    it('cost a repair one read when there are none', async () => {
      const given = opened(store());
      await settled(given);
      await given.start();
      await given.repair();
      let calls = 0;
      const opens = given.runtime.store;
      const counted = new Proxy(await opens(), {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name === 'scan' || name === 'snapshot' || name === 'transact') calls += 1;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const runtime = { ...given.runtime, store: () => Promise.resolve(counted) };
      await reconcileAll(runtime, given.clock.now, { deadline: given.clock.now + 1 });
      expect(calls).toBe(0);
    });

    it.each([
      ['process-build-7.example-4711-0123456789abcdef', 'process-0123456789abcdef'],
      ['process-build-7.example-4711-01234567', 'process-01234567'],
    ])('a process that 0.5.0 has stored as %s is shown without its host', async (stored, shown) => {
      const { clock, owner, start, change } = opened(store());
      const id = await start();
      const lease = { kind: 'process', workerId: stored, tokenHash: 'h', acquiredAt: clock.now } as const;
      await change(id, ({ trace }) => ({
        status: 'running',
        lease: { ...lease, expiresAt: clock.now + 60_000 },
        trace: trace.map((entry) => ({ ...entry, workerId: stored })),
      }));
      const history = await owner.history(id);
      expect(history.map(({ context }) => context)).toEqual([expect.objectContaining({ workerId: shown })]);
      const answers = [history, await owner.get(id), await owner.list({}), await owner.artifacts(id)];
      expect(JSON.stringify(answers)).not.toMatch(/build-7|-4711-/);
    });
  });
}
