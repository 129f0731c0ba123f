import { describe, expect, test } from 'vitest';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { offerLeftKeys } from '../../functions/runs/offer-start-key.ts';
import { requireRun } from '../../functions/runs/read-runs.ts';
import { laneOf, runKey, slotKey, startSlotOf } from '../../functions/runs/records.ts';
import { restoredRun } from '../../functions/runs/rules/restored.ts';
import { queuedRun } from '../../functions/runs/rules/run.fixture.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { child } from './execution-children-stage.ts';
import { begun, HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { persist, together } from './store-fixtures.ts';

const scopeOf = (tenantId: string) => ({ productId: 'p', tenantId });
const done = { status: 'succeeded' } as const;

/** Starts runs of one key, one after another. */
async function started(client: ExecutionClient, many: number, concurrencyKey = 'k'): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < many; at += 1)
    ids.push((await client.start({ handlerId: HANDLER, concurrencyKey })).id);
  return ids;
}

/** Leases until there is nothing to lease. */
async function all(client: ExecutionClient, workerId = 'w') {
  const leases = [];
  for (;;) {
    const lease = await client.lease({ workerId, handlerIds: [HANDLER], ttlSeconds: 60 });
    if (lease === null) return leases;
    leases.push(lease);
  }
}

const idsOf = (leases: Awaited<ReturnType<typeof all>>) => leases.map(({ run }) => run.id);

/** Concurrency keys of start requests. */
export function describeStartKeys(conformance: ExecutionConformance): void {
  describe('concurrency keys of starts', () => {
    describeTurns(conformance);
    describeLimits(conformance);
    describeEnds(conformance);
    describeUpkeep(conformance);
    describeElsewhere(conformance);
  });
}

function describeTurns({ store, alone }: ExecutionConformance): void {
  alone('one run of a key is executed at a time, the oldest first', async () => {
    const client = new Stage(store()).client();
    const ids = await started(client, 4);
    const free = await client.start({ handlerId: HANDLER });
    let leases = await all(client);
    expect(idsOf(leases).sort()).toEqual([ids[0] ?? '', free.id].sort());
    const order: (string | undefined)[] = [];
    while (leases.length > 0) {
      for (const lease of leases) await client.complete({ ...proofOf(lease), result: done });
      leases = await all(client);
      order.push(...idsOf(leases));
    }
    expect(order).toEqual(ids.slice(1));
    expect(await client.get(ids[0] ?? '')).toMatchObject({ concurrencyKey: 'k', status: 'succeeded' });
    expect(await client.get(free.id)).not.toHaveProperty('concurrencyKey');
  });

  test('a key belongs to its handler, product and tenant', async () => {
    const other = 'test.other';
    const client = new Stage(store()).client({ external: [{ handlerId: HANDLER }, { handlerId: other }] });
    const concurrencyKey = 'k';
    const starts = [
      { handlerId: HANDLER, concurrencyKey },
      { handlerId: other, concurrencyKey },
      { handlerId: HANDLER, concurrencyKey, scope: scopeOf('a') },
      { handlerId: HANDLER, concurrencyKey, scope: scopeOf('b') },
      { handlerId: HANDLER, concurrencyKey: 'another' },
    ];
    for (const body of starts) await client.start(body);
    for (const _ of starts)
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER, other] })).not.toBeNull();
  });

  test('a run of a key that waits costs a later search nothing', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    await started(client, 40);
    await all(client);
    const before = stage.storeCalls;
    const quiet = await client.lease({ workerId: 'w', handlerIds: [HANDLER] });
    expect(quiet).toBeNull();
    // A list of the queue, and what a call settles first.
    expect(stage.storeCalls - before).toBeLessThanOrEqual(3);
    const free = await client.start({ handlerId: HANDLER });
    expect((await leased(client)).run.id).toBe(free.id);
  });

  test('a handler with a key of its own executes one run at a time, also with keys of starts', async () => {
    const external = [{ handlerId: HANDLER, concurrencyKey: 'own' }];
    const client = new Stage(store()).client({ external, keyLimits: { [HANDLER]: 5 } });
    const ids = [...(await started(client, 2, 'a')), ...(await started(client, 1, 'b'))];
    const seen: string[] = [];
    for (const _ of ids) {
      const leases = await all(client);
      expect(leases).toHaveLength(1);
      for (const lease of leases) await client.complete({ ...proofOf(lease), result: done });
      seen.push(...idsOf(leases));
    }
    expect(seen.sort()).toEqual(ids);
  });
}

function describeLimits({ store, rivals }: ExecutionConformance): void {
  test('as many are executed at a time as the handler allows, at every instance', async () => {
    const stage = new Stage(store());
    const keyLimits = { [HANDLER]: 3 };
    const clients = [stage.client({ keyLimits }), stage.client({ keyLimits })] as const;
    const ids = await started(clients[0], 9);
    for (let turn = 0; turn < 3; turn += 1) {
      const answers = await together(Math.min(rivals, 8), (at) =>
        persist(() =>
          (at % 2 ? clients[0] : clients[1]).lease({ workerId: `w${at}`, handlerIds: [HANDLER] }),
        ),
      );
      const won = answers.filter((lease) => lease !== null);
      // Rivals may all give up; then there is room still.
      const leases = [...won, ...(await all(clients[turn % 2 === 0 ? 0 : 1]))];
      expect(leases).toHaveLength(3);
      const running = (await clients[0].list({ status: 'running' })).map(({ id }) => id);
      expect(running.sort()).toEqual(idsOf(leases).sort());
      for (const lease of leases) await clients[0].complete({ ...proofOf(lease), result: done });
    }
    expect((await clients[0].list({ status: 'succeeded' })).map(({ id }) => id).sort()).toEqual(ids);
  });

  test('a limit that was lowered binds the next leases', async () => {
    const stage = new Stage(store());
    await started(stage.client(), 4);
    const held = await all(stage.client({ keyLimits: { [HANDLER]: 2 } }));
    expect(held).toHaveLength(2);
    const lowered = stage.client();
    const [first, second] = held;
    await lowered.complete({ ...proofOf(first!), result: done });
    expect(await all(lowered)).toEqual([]);
    await lowered.complete({ ...proofOf(second!), result: done });
    expect(await all(lowered)).toHaveLength(1);
  });
}

function describeEnds({ store, alone }: ExecutionConformance): void {
  alone('a place passes on when its run ends, waits, is given back, or loses its lease', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const ids = await started(client, 6);
    type Proof = ReturnType<typeof proofOf>;
    const ways = [
      (proof: Proof) => client.complete({ ...proof, result: done }),
      (proof: Proof) =>
        client.complete({ ...proof, result: { status: 'failed', failureClass: 'validation' } }),
      (proof: Proof) => client.wait({ ...proof, kind: 'external_event', name: 'e' }),
      async (proof: Proof) => {
        await client.cancel(ids[3] ?? '');
        await client.complete({ ...proof, result: done });
      },
      () => stage.pass(61_000).then(() => stage.settle(client.instance)),
    ];
    for (const [at, way] of ways.entries()) {
      const [lease, ...more] = await all(client);
      expect([lease?.run.id, more.length]).toEqual([ids[at], 0]);
      await way(proofOf(lease!));
    }
    // The run that lost its lease comes back, and its place has passed on.
    const [last] = await all(client);
    expect(last?.run.id).toBe(ids[5]);
    await client.complete({ ...proofOf(last!), result: done });
    expect(idsOf(await all(client))).toEqual([ids[4]]);
  });

  alone('a lease that ran out frees its place before anything has settled it', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const ids = await started(client, 2);
    await all(client);
    await stage.client().cancel(ids[1] ?? '');
    const [late] = await started(client, 1);
    stage.time.advance(61_000);
    const next = await all(client);
    expect(next).toHaveLength(1);
    expect([ids[0], late]).toContain(next[0]?.run.id);
  });

  alone('a cancelled run that had the next place leaves it to the one behind', async () => {
    const client = new Stage(store()).client();
    const ids = await started(client, 3);
    const [lease] = await all(client);
    await client.complete({ ...proofOf(lease!), result: done });
    await client.cancel(ids[1] ?? '');
    expect(idsOf(await all(client))).toEqual([ids[2]]);
  });

  test('a named run of a busy key is leased once it has the place', async () => {
    const client = new Stage(store()).client();
    const ids = await started(client, 2);
    const [lease] = await all(client);
    const runId = ids.find((id) => id !== lease?.run.id) ?? '';
    const named = { workerId: 'w', handlerIds: [HANDLER], runId };
    expect(await client.lease(named)).toBeNull();
    await client.complete({ ...proofOf(lease!), result: done });
    expect((await client.lease(named))?.run.id).toBe(runId);
  });
}

function describeUpkeep({ store }: ExecutionConformance): void {
  test('an offer that was lost in a crash is made up for', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const ids = await started(client, 2);
    const [lease] = await all(client);
    // The process dies between the end of the run and the offer of its place.
    const dying = stage.client();
    const dies = () => {
      throw new Error('the process dies');
    };
    Object.assign(dying.instance.runtime.registry, { concurrencyLimitOf: dies });
    await dying.complete({ ...proofOf(lease!), result: done });
    expect(await all(stage.client())).toEqual([]);
    stage.time.advance(61_000);
    expect(await offerLeftKeys(stage.client().instance.runtime, stage.time.now)).toBe(1);
    expect(idsOf(await all(stage.client()))).toEqual(ids.filter((id) => id !== lease?.run.id));
  });

  test('waiting runs are accounted for, and nothing is left of a key after its runs are pruned', async () => {
    const stage = new Stage(store());
    const client = stage.client({ keyLimits: { [HANDLER]: 2 } });
    const ids = await started(client, 5);
    const { runtime } = client.instance;
    let leases = await all(client);
    expect((await accountForRuns(runtime)).faults).toEqual([]);
    await client.cancel(ids[4] ?? '');
    while (leases.length > 0) {
      for (const lease of leases) await client.complete({ ...proofOf(lease), result: done });
      leases = await all(client);
    }
    const run = await requireRun(runtime, ids[0] ?? '');
    const key = slotKey(startSlotOf(run));
    const slots = async () =>
      (await stage.store.query(stage.scope, { by: 'keys', keys: [{ key }] })).records.length;
    for (const id of ids) await removeRun(runtime, await requireRun(runtime, id), stage.time.now);
    expect(await slots()).toBe(0);
  });
}

function describeElsewhere({ store }: ExecutionConformance): void {
  test('a child has the key of its own start, in the scope of its parent', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client, { scope: scopeOf('a') });
    const first = await child(client, proof, 'one', { concurrencyKey: 'k' });
    const second = await child(client, proof, 'two', { concurrencyKey: 'k' });
    const alien = await client.start({ handlerId: HANDLER, concurrencyKey: 'k', scope: scopeOf('b') });
    const leases = await all(client);
    expect(leases).toHaveLength(2);
    expect(idsOf(leases)).toContain(alien.id);
    expect([first, second].filter((id) => idsOf(leases).includes(id))).toHaveLength(1);
    expect(await client.get(second)).toMatchObject({ concurrencyKey: 'k' });
  });

  test('a server of an earlier release, which puts a waiting run into its lane again, does no harm', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const ids = await started(client, 3);
    const [lease] = await all(client);
    const { runtime } = client.instance;
    const waiting = ids.filter((id) => id !== lease?.run.id);
    for (const id of waiting) {
      const run = await requireRun(runtime, id);
      expect(run.waitsForKey).toBe(true);
      const key = runKey(id);
      // It derives the indexes from what it knows: status and handler.
      const indexes = { handler: HANDLER, status: 'queued', lane: HANDLER };
      await stage.store.transact(stage.scope, { keys: [{ key, view: 'body' }] }, (found) => {
        const record = found.get(key) ?? expect.fail();
        const listing = { group: 'run', id, hidden: false, indexes };
        return { writes: [{ put: { ...record, listing } }], result: null };
      });
    }
    expect(await all(client)).toEqual([]);
    await client.complete({ ...proofOf(lease!), result: done });
    const order = [];
    for (const _ of waiting) {
      const leases = await all(client);
      expect(leases).toHaveLength(1);
      for (const each of leases) await client.complete({ ...proofOf(each), result: done });
      order.push(...idsOf(leases));
    }
    expect(order.sort()).toEqual(waiting.sort());
  });

  test('a run of a copy is found by workers again, and asks for its place', () => {
    const run = queuedRun({ startKey: 'k', waitsForKey: true });
    expect(laneOf(run)).toBeUndefined();
    const { run: restored } = restoredRun(run, 0);
    expect([laneOf(restored), restored.startKey]).toEqual(['h', 'k']);
  });
}
