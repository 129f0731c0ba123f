import { afterEach, expect, test, vi } from 'vitest';
import { patched } from '../../test/conformance/canonical-outbox-tenant.ts';
import { held } from '../../test/conformance/execution-handlers-life.ts';
import { pluginOf } from '../../test/conformance/execution-plugins.ts';
import { Stage } from '../../test/conformance/execution-stage.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ExecutionClient, executionInstance } from '../../test/support/execution.ts';
import type { RecordStore } from '../store/port.ts';
import { runKey } from './records.ts';
import { slotOwner } from './run-job.ts';
import { SlotShares } from './slot-shares.ts';

const HANDLER = 'p.held';
const scopeOf = (tenantId: string) => ({ productId: 'p', tenantId });
const ownerOf = (tenantId: string) => slotOwner({ scope: scopeOf(tenantId) });

/** A process of a few slots in which the test ends the handlers, and a process that only admits. */
function deployment(
  concurrencyMax: number,
  over: (stage: Stage) => RecordStore = ({ store }) => store,
  base: RecordStore = new MemoryStore(new MemoryDatabase()),
) {
  const stage = new Stage(base);
  const { executions, run } = held();
  const plugins = [pluginOf({ [HANDLER]: run })];
  const { world, scope } = stage;
  const given = { world, scope, node: 50, plugins, concurrencyMax };
  const client = new ExecutionClient(executionInstance(over(stage), given));
  const admits = stage.client({ plugins, concurrencyMax: 0 });
  const ended = new Set<string>();
  const running = () => executions.filter(({ context }) => !ended.has(context.runId));
  return {
    stage,
    client,
    plugins,
    engine: client.instance.engine,
    /** Starts runs of the tenant, one after another. */
    start: async (tenantId: string, runs: number, through: 'client' | 'admits' = 'client') => {
      const starting = through === 'client' ? client : admits;
      const ids: string[] = [];
      for (let n = 0; n < runs; n += 1)
        ids.push((await starting.start({ handlerId: HANDLER, scope: scopeOf(tenantId) })).id);
      await stage.quiet();
      return ids;
    },
    /** The tenants of the runs that are executed now, in their order by name. */
    tenants: () =>
      running()
        .map(({ context }) => context.scope?.tenantId ?? '')
        .sort((one, other) => one.localeCompare(other))
        .join(''),
    end: async (tenantId: string, runs = 1) => {
      const ending = running().filter(({ context }) => context.scope?.tenantId === tenantId);
      for (const { context, end } of ending.slice(0, runs)) {
        ended.add(context.runId);
        end();
      }
      await stage.quiet();
    },
  };
}

afterEach(() => vi.restoreAllMocks());

test('the last free slot goes at once to a tenant without a run', async () => {
  const { start, tenants, end } = deployment(4);
  await start('a', 6);
  expect(tenants()).toBe('aaa');
  await start('b', 1);
  expect(tenants()).toBe('aaab');
  await end('b');
  expect(tenants()).toBe('aaa');
  await start('c', 1);
  expect(tenants()).toBe('aaac');
});

test('without the share one tenant has every slot', async () => {
  vi.spyOn(SlotShares.prototype, 'mayTake').mockReturnValue(true);
  const { start, tenants } = deployment(4);
  await start('a', 6);
  await start('b', 1);
  expect(tenants()).toBe('aaaa');
});

test('a tenant has no more than half of the slots as long as a run of another tenant waits', async () => {
  const { start, tenants, end } = deployment(6);
  await start('a', 8);
  await start('b', 4);
  expect(tenants()).toBe('aaaaab');
  await end('a', 2);
  expect(tenants()).toBe('aaabb');
  await end('b', 2);
  expect(tenants()).toBe('aaabb');
  await end('b', 2);
  expect(tenants()).toBe('aaaaa');
});

test('runs without a tenant have no share', async () => {
  const { client, stage, tenants } = deployment(3);
  for (let n = 0; n < 4; n += 1) await client.start({ handlerId: HANDLER });
  await stage.quiet();
  expect(await client.list({ status: 'running' })).toHaveLength(3);
  expect(tenants()).toBe('');
});

test('the end of a run wakes the engine for a run that was refused', async () => {
  const { start, tenants, end, client } = deployment(4);
  const ids = await start('a', 5);
  await end('a');
  expect(tenants()).toBe('aaa');
  expect((await client.get(ids[3] ?? '')).status).toBe('running');
  await end('a');
  expect((await client.get(ids[4] ?? '')).status).toBe('running');
});

test('a reservation that is released wakes the engine for a run that was refused', async () => {
  const { start, tenants, engine } = deployment(2);
  const reservation = engine.reserve(HANDLER, ownerOf('a'));
  expect(reservation).not.toBeNull();
  expect(engine.reserve(HANDLER, ownerOf('a'))).toBeNull();
  await start('a', 1);
  expect(tenants()).toBe('');
  reservation?.release();
  await start('b', 0);
  expect(tenants()).toBe('a');
});

test('searches at the same time respect the share, and find the runs of another tenant behind many of the first', async () => {
  const { stage, start, tenants, engine, end } = deployment(4);
  await start('a', 40, 'admits');
  const [last] = await start('b', 1, 'admits');
  for (let wakes = 0; wakes < 5; wakes += 1) engine.wake();
  await stage.quiet();
  expect(last).toBeDefined();
  expect(tenants()).toBe('aaab');
  await end('b');
  // The engine knows now that only runs of the first tenant wait, so that a search of the store is not worthwhile.
  const calls = stage.storeCalls;
  for (let wakes = 0; wakes < 5; wakes += 1) engine.wake();
  await stage.quiet();
  expect([stage.storeCalls, tenants()]).toEqual([calls, 'aaa']);
  for (let ends = 0; ends < 40; ends += 1) {
    expect(tenants()).toBe('aaa'.slice(0, 40 - ends));
    await end('a');
  }
  expect(tenants()).toBe('');
});

/** A store that does `instead` of the first transaction on the run that `next` names. */
function once(next: { runId: string | null }, instead: (store: RecordStore) => RecordStore['transact']) {
  return ({ store }: Stage): RecordStore =>
    patched(store, {
      transact(scope, request, decide) {
        const { runId } = next;
        if (runId === null || !request.keys.some(({ key }) => key.id === runKey(runId).id))
          return store.transact(scope, request, decide);
        next.runId = null;
        return instead(store)(scope, request, decide);
      },
    });
}

test('a run that was refused while another one was about to be leased is executed when that lease is lost', async () => {
  let isOpen = (): void => undefined;
  const gate = new Promise<void>((resolve) => (isOpen = resolve));
  const next: { runId: string | null } = { runId: null };
  // The store lets the engine decide, and then again after a rival was faster.
  const over = once(next, (store) => async (scope, request, decide) => {
    await store.transact(scope, request, (found) => {
      decide(found);
      return { writes: [], result: null };
    });
    await gate;
    return store.transact(scope, request, decide);
  });
  const { stage, start, tenants, engine, plugins, client } = deployment(2, over);
  const [first = ''] = await start('a', 1, 'admits');
  next.runId = first;
  engine.wake();
  await stage.quiet();
  const [second = ''] = await start('a', 1);
  expect([tenants(), next.runId]).toEqual(['', null]);
  void stage.client({ plugins }).instance.engine.deliver(first);
  await stage.quiet();
  expect([tenants(), (await client.get(second)).status]).toEqual(['a', 'queued']);
  isOpen();
  await stage.quiet();
  expect(tenants()).toBe('aa');
});

test('a run whose lease could not be written is executed by the next search', async () => {
  for (const isAlone of [true, false]) {
    let isOpen = (): void => undefined;
    const gate = new Promise<void>((resolve) => (isOpen = resolve));
    const next: { runId: string | null } = { runId: null };
    const over = once(next, (store) => async (scope, request, decide) => {
      await store.transact(scope, request, (found) => {
        decide(found);
        return { writes: [], result: null };
      });
      await gate;
      throw new Error('away');
    });
    const { stage, start, tenants, end } = deployment(2, over);
    await start('b', 1);
    await start('c', 1);
    next.runId = (await start('a', 1))[0] ?? null;
    await end('b');
    // The failure finds a slot for the next search, or only the one that its own search has.
    if (isAlone) await end('c');
    expect([tenants(), next.runId]).toEqual([isAlone ? '' : 'c', null]);
    isOpen();
    await stage.quiet();
    expect(tenants()).toBe(isAlone ? 'a' : 'ac');
  }
});

test('leases under way count, and the run of a tenant that may have no other slot waits for it', async () => {
  const memory = new MemoryStore(new MemoryDatabase());
  const slow = patched(memory, {
    async transact(...given) {
      await new Promise(setImmediate);
      const result = await memory.transact(...given);
      await new Promise(setImmediate);
      return result;
    },
  });
  const { stage, start, tenants, end, engine, client } = deployment(2, ({ store }) => store, slow);
  // From now on the engine knows every ready run without the store.
  engine.wake();
  await stage.quiet();
  await start('b', 1);
  await start('c', 1);
  await start('a', 2);
  expect(tenants()).toBe('bc');
  await Promise.all([end('b'), end('c')]);
  expect(tenants()).toBe('a');
  await end('a');
  expect(tenants()).toBe('a');
  await end('a');
  await start('a', 4, 'admits');
  client.instance.queue.markAllIncomplete();
  for (let wakes = 0; wakes < 5; wakes += 1) engine.wake();
  await stage.quiet();
  expect(tenants()).toBe('a');
});

test('a claim that is made again counts once, and never against its own search', () => {
  const shares = new SlotShares(2, () => false);
  const claim = shares.newClaim();
  claim.claim('a');
  claim.claim('a');
  expect([claim.mayTake('a'), shares.mayTake('a'), shares.mayTake('b')]).toEqual([true, false, true]);
  claim.claim('b');
  expect([shares.mayTake('a'), shares.mayTake('b')]).toEqual([true, false]);
  claim.release();
  claim.release();
  shares.hold('a');
  expect([shares.mayTake('a'), shares.mayTake('b')]).toEqual([false, true]);
});

test('a delivery of a queue is executed however many slots its tenant holds', async () => {
  const { stage, start, tenants, engine } = deployment(4);
  for (const id of await start('a', 4, 'admits')) void engine.deliver(id);
  await stage.quiet();
  expect(tenants()).toBe('aaaa');
});
