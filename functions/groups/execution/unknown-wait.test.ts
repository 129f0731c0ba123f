import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExecutionClient, executionInstance } from '../../../test/support/execution.ts';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import { machine } from '../../compose/machine.ts';
import { executionCollections } from '../../runs/records.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';

/** How long a lease call waits that names a handler which the service does not know. */

const BOUND_MS = 10_000;

async function stage() {
  const path = join(await mkdtemp(join(tmpdir(), 'svc-unknown-wait-')), 'x.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: executionCollections });
  const world = new ManualWorld();
  const instance = executionInstance(store, { world, external: [{ handlerId: 'known' }] });
  const lease = async (handlerIds: string[], more: { workerId?: string; runId?: string } = {}) => {
    const body = { workerId: 'w', handlerIds, waitSeconds: 20, ...more };
    const caller = { kind: 'development', principal: null } as const;
    const context = { caller, correlationId: 'test', now: world.now, signal: new AbortController().signal };
    return instance.operations.leaseExternalExecutionRun({ params: {}, query: {}, body }, context);
  };
  /** The field of the answer that comes when the call has waited for exactly this time. */
  const heardAfter = async (waitMs: number, ...call: Parameters<typeof lease>) => {
    const answer = lease(...call);
    await world.timerSet();
    world.advance(waitMs - 1);
    expect(world.pendingTimers).toBeGreaterThan(0);
    world.advance(1);
    return (await answer).headers?.['Svc-Unknown-Handlers'];
  };
  return { store, world, client: new ExecutionClient(instance), lease, heardAfter };
}

test('each worker hears of an unknown handler within 10 seconds: a second one, and one that has started anew, too', async () => {
  const { store, heardAfter } = await stage();
  for (const workerId of ['w', 'second', 'w', 'second'])
    expect(await heardAfter(BOUND_MS, ['known', 'new'], { workerId })).toBe('new');
  await store.close();
});

test('so does one whose completion has named the handler before', async () => {
  const { store, client, heardAfter } = await stage();
  await client.start({ handlerId: 'known' });
  const { leaseKey = '', leaseToken = '' } =
    (await client.lease({ workerId: 'w', handlerIds: ['known'] })) ?? {};
  const done = await client.complete({
    leaseKey,
    leaseToken,
    workerId: 'w',
    result: { result: null },
    leaseNext: { handlerIds: ['known', 'new'] },
  });
  expect(done.status).toBe('succeeded');
  expect(await heardAfter(BOUND_MS, ['known', 'new'])).toBe('new');
  await store.close();
});

test('so does one that asks for a run by its id', async () => {
  const { store, client, heardAfter } = await stage();
  const { id: runId } = await client.start({ handlerId: 'known' });
  await client.lease({ workerId: 'other', handlerIds: ['known'] });
  expect(await heardAfter(BOUND_MS, ['known', 'new'], { runId })).toBe('new');
  await store.close();
});

test('a call of known handlers waits as long as it asks', async () => {
  const { store, heardAfter } = await stage();
  expect(await heardAfter(20_000, ['known'])).toBeUndefined();
  await store.close();
});

test('a run of the known handler reaches a worker that also names an unknown one', async () => {
  const { store, world, client, lease } = await stage();
  const waiting = lease(['known', 'new']);
  await world.timerSet();
  const { id } = await client.start({ handlerId: 'known' });
  const { body, headers } = await waiting;
  expect([body?.run.id, headers?.['Svc-Unknown-Handlers']]).toEqual([id, 'new']);
  await store.close();
});
