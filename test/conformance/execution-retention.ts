import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { AutomaticPrune } from '../../functions/runs/maintenance/automatic-prune.ts';
import { StoreError } from '../../functions/store/port.ts';
import { refused } from '../support/canonical.ts';
import { HANDLER, ownRuns, scopeOf, someKey, textOfBytes, working } from './execution-fixtures.ts';
import { contentOf, endedRuns, rich } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const HOUR = 3_600_000;
const mine = scopeOf('p', 'mine');
const theirs = scopeOf('p', 'theirs');

export function describeRetention({ store }: ExecutionConformance): void {
  type World = ReturnType<typeof ownRuns>;
  const refuse = async ({ client }: World, count: number, body: object = {}) => {
    for (let n = 0; n < count; n += 1)
      await refused('plugin_mismatch', client.start({ handlerId: HANDLER, pluginId: 'no', ...body }));
  };

  describe('the retention of ended runs', () => {
    it('counts the runs of each product and tenant apart', async () => {
      const world = ownRuns(store(), { options: { retainedRunsMax: 2 } });
      const { client } = world;
      const old = await endedRuns(client, 2, { scope: mine });
      const first = await endedRuns(client, 3, { scope: theirs });
      const none = await endedRuns(client, 3);
      await endedRuns(client, 2, { scope: scopeOf('other', 'mine') });
      const { runIds } = await client.prune({ dryRun: false });
      expect(new Set(runIds)).toEqual(new Set([first[0], none[0]]));
      expect(runIds).toHaveLength(2);
      expect((await client.get(old[0] ?? '')).status).toBe('succeeded');
    });

    it('is not used up by starts that were refused: a key keeps its run', async () => {
      const world = ownRuns(store(), { options: { retainedRunsMax: 2 } });
      const { client } = world;
      const idempotencyKey = someKey();
      const [kept] = await endedRuns(client, 1, { scope: mine, idempotencyKey });
      await refuse(world, 5, { scope: mine });
      await refuse(world, 5, { scope: theirs });
      await client.prune({ dryRun: false });
      const again = await client.start({ handlerId: HANDLER, scope: mine, idempotencyKey });
      expect([again.id, again.admission.replayed]).toEqual([kept, true]);
      expect((await client.list({ status: 'rejected' })).length).toBe(4);
    });

    it('ends with nothing where a caller asks for that', async () => {
      const world = ownRuns(store());
      await endedRuns(world.client, 1, { scope: mine });
      await refuse(world, 2, { scope: mine });
      expect((await world.client.prune({ dryRun: false, retainTerminalRuns: 0 })).runs).toBe(3);
      expect(await world.client.list()).toEqual([]);
    });
  });

  describe('starts that are refused', () => {
    it('leave 50 runs of their product and tenant at once, without their payload', async () => {
      const world = ownRuns(store());
      const { client, scope } = world;
      await refuse(world, 1, { scope: theirs });
      const payload = textOfBytes(100_000);
      const idempotencyKey = someKey();
      await refuse(world, 53, { scope: mine, payload, idempotencyKey });
      const runs = await client.list({ limit: 200 });
      expect(runs.filter((run) => run.scope?.tenantId === 'mine')).toHaveLength(50);
      expect(runs).toHaveLength(51);
      const content = await contentOf(store(), scope);
      expect(content.filter((line) => !line.startsWith('runs '))).toEqual([]);
      expect(content.join('').length).toBeLessThan(51 * 5_000);
    });
  });

  describe('starts that are refused again and again', () => {
    it('cost one write each, and no search', async () => {
      const calls: string[] = [];
      const counted = new Proxy(store(), {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return (...given: readonly unknown[]) => {
            calls.push(String(name));
            return Reflect.apply(value, target, given);
          };
        },
      });
      const world = ownRuns(counted);
      await refuse(world, 60, { scope: mine, idempotencyKey: someKey() });
      calls.length = 0;
      await refuse(world, 26, { scope: mine, idempotencyKey: someKey() });
      // One of them lists the refused starts again, for those of other processes, and removes the oldest afterwards.
      expect(calls.filter((name) => name === 'transact')).toHaveLength(27);
      expect(calls.filter((name) => name === 'query')).toHaveLength(1);
      expect(await world.client.list({ limit: 200 })).toHaveLength(50);
    });

    it('by several processes leave at most 25 more for each further process', async () => {
      const one = ownRuns(store());
      const other = ownRuns(store(), { scope: one.scope, node: 2 });
      let most = 0;
      for (let n = 0; n < 12; n += 1) {
        await Promise.all([refuse(one, 10, { scope: mine }), refuse(other, 10, { scope: mine })]);
        most = Math.max(most, (await one.client.list({ limit: 200 })).length);
      }
      expect(most).toBeGreaterThanOrEqual(50);
      expect(most).toBeLessThanOrEqual(75);
    });
  });

  describe('a store without room for new data', () => {
    it('still lets runs end, be cancelled and be pruned', async () => {
      const disk = { short: false };
      const short = new Proxy(store(), {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return (...given: readonly unknown[]) => {
            const frees = (given[1] as { readonly frees?: boolean } | undefined)?.frees === true;
            if (disk.short && name === 'transact' && !frees)
              return Promise.reject(new StoreError('full', 'no room'));
            return Reflect.apply(value, target, given);
          };
        },
      });
      const world = ownRuns(short);
      const { client, scope } = world;
      await rich(world, 110);
      const ended = await working(client);
      const returned = await working(client);
      const cancelled = await client.start({ handlerId: HANDLER });
      disk.short = true;
      await client.release(returned.work);
      await client.cancel(returned.run.id);
      await expect(client.start({ handlerId: HANDLER })).rejects.toThrow(StoreError);
      await client.complete({ ...ended.work, result: {} });
      await client.cancel(cancelled.id);
      expect((await client.prune({ dryRun: false, retainTerminalRuns: 0 })).runs).toBe(4);
      const left = await contentOf(store(), scope);
      expect(left.filter((line) => !line.startsWith('counters '))).toEqual([]);
    });
  });

  describe('automatic pruning', () => {
    it('spares runs that ended less than the minimum age ago, and stops with its process', async () => {
      const world = ownRuns(store(), { options: { retainedRunsMax: 1, retainedAgeMsMin: 24 * HOUR } });
      const { client, clock, instance } = world;
      const timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
      const logged: string[] = [];
      const runtime = {
        ...instance.runtime,
        log: ({ message }: { readonly message: string }) => void logged.push(message),
        world: {
          ...instance.runtime.world,
          timers: {
            after: (delayMs: number, callback: () => void) => {
              timers.push({ delayMs, callback });
              return () => void timers.splice(0);
            },
          },
        },
      };
      const pruning = new AutomaticPrune(runtime, 2 * HOUR);
      pruning.start();
      const tick = async () => {
        const next = timers.shift();
        next?.callback();
        await expect.poll(() => timers.length).toBe(1);
        return next?.delayMs;
      };
      const old = await endedRuns(client, 2, { scope: mine });
      clock.now += 24 * HOUR - 1;
      const young = await endedRuns(client, 2, { scope: mine });
      expect(await tick()).toBe(60_000);
      expect(await client.list()).toHaveLength(4);
      clock.now += 1;
      expect(await tick()).toBe(2 * HOUR);
      expect((await client.list()).map(({ id }) => id)).toEqual([...young].reverse());
      expect(logged).toEqual(['Pruned 2 terminal runs; 0 failed']);
      await expect(client.get(old[0] ?? '')).rejects.toBeInstanceOf(ServiceError);
      await pruning.stop();
      expect(timers).toEqual([]);
    });
  });

  describe('the share of active runs', () => {
    it('is free again when runs end after a change of the settings that moves their counter', async () => {
      const small = { activeRunsMax: 1_000, runShareMax: 250, counterShards: 8 };
      const before = ownRuns(store(), { options: small });
      const { scope } = before;
      const ids: string[] = [];
      for (let n = 0; n < 6; n += 1)
        ids.push((await before.client.start({ handlerId: HANDLER, scope: mine })).id);
      const after = ownRuns(store(), { scope, node: 2, options: { ...small, runShareMax: 500 } });
      for (let n = 0; n < 6; n += 1)
        ids.push((await after.client.start({ handlerId: HANDLER, scope: mine })).id);
      for (const id of ids) await (Number(id) % 2 === 0 ? before : after).client.cancel(id);
      for (const { instance } of [before, after])
        expect((await accountForRuns(instance.runtime)).faults).toEqual([]);
    });

    it.each([1, 8])(
      'leaves room for others, counted by %i, and ends with the runs',
      async (counterShards) => {
        const options = { activeRunsMax: 20, runShareMax: 5, counterShards };
        const { client, clock, scope } = ownRuns(store(), { options });
        const scheduledAtUtc = new Date(clock.now + 300 * 24 * HOUR).toISOString();
        const start = (tenant: object) => client.start({ handlerId: HANDLER, scheduledAtUtc, ...tenant });
        const ids: string[] = [];
        for (let n = 0; n < 5; n += 1) ids.push((await start({ scope: mine })).id);
        const problem = await refused('queue_full', start({ scope: mine }));
        expect(problem.message).toContain('of this product and tenant');
        await start({ scope: theirs });
        await start({ scope: scopeOf('other', 'mine') });
        await start({});
        await client.cancel(ids[0] ?? '');
        await start({ scope: mine });
        await refused('queue_full', start({ scope: mine }));
        for (const { id } of await client.list()) await client.cancel(id);
        const counters = (await contentOf(store(), scope)).filter((line) => line.startsWith('counters '));
        // The records of the shares are removed, and those of all runs count 0.
        expect(counters.length).toBeLessThanOrEqual(counterShards);
        for (const line of counters) expect(line).toContain('"active":0');
      },
    );

    it('is at least one run', async () => {
      const { client } = ownRuns(store(), {
        options: { activeRunsMax: 2, runShareMax: 1, counterShards: 8 },
      });
      await client.start({ handlerId: HANDLER, scope: mine });
      await refused('queue_full', client.start({ handlerId: HANDLER, scope: mine }));
      await client.start({ handlerId: HANDLER, scope: theirs });
    });
  });
}
