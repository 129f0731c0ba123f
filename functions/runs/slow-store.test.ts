import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patched } from '../../test/conformance/canonical-outbox-tenant.ts';
import { ExecutionClient, type ExecutionInstance, executionInstance } from '../../test/support/execution.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { machine } from '../compose/machine.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { executionCollections, leaseRecordKey } from './records.ts';
import { acquireRunLease } from './run-owned.ts';

const SLOW_MS = 10_000;

/** A client of a store that waits for its locks: each transaction takes ten seconds of the clock before it decides. */
async function slowly(
  work: (client: ExecutionClient, world: ManualWorld, instance: ExecutionInstance) => Promise<void>,
) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-slow-'));
  const path = join(folder, 'x.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: executionCollections });
  const world = new ManualWorld();
  const slow = patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        world.now += SLOW_MS;
        return decide(found);
      }),
  });
  const instance = executionInstance(slow, { world, external: [{ handlerId: 'h' }] });
  await work(new ExecutionClient(instance), world, instance);
  await store.close();
  await rm(folder, { recursive: true });
}

test('a lease starts at its grant, and a renewal at its call, for any delay of the store', async () => {
  await slowly(async (client, world) => {
    await client.start({ handlerId: 'h' });
    const lease = await client.lease({ workerId: 'w', handlerIds: ['h'], ttlSeconds: 30 });
    if (lease === null) throw new Error('there was nothing to lease');
    expect(Date.parse(lease.acquiredAtUtc)).toBe(world.now);
    expect(Date.parse(lease.expiresAtUtc)).toBe(world.now + 30_000);
    const { leaseKey, leaseToken, workerId } = lease;
    const proof = { leaseKey, leaseToken, workerId };
    const renewed = await client.heartbeat({ ...proof, ttlSeconds: 30 });
    expect(Date.parse(renewed.expiresAtUtc)).toBe(world.now + 30_000);
    const ended = await client.complete({ ...proof, result: { status: 'succeeded' } });
    expect(Date.parse(ended.completedAtUtc ?? '')).toBe(world.now);
  });
});

test('a lease of three seconds that a slow store grants still has its three seconds', async () => {
  await slowly(async (client, world) => {
    const { id } = await client.start({ handlerId: 'h' });
    const lease = await client.lease({ workerId: 'w', handlerIds: ['h'], ttlSeconds: 3 });
    expect(Date.parse(lease?.expiresAtUtc ?? '') - world.now).toBe(3_000);
    expect(await client.get(id)).toMatchObject({ status: 'running' });
  });
});

test('a name that a slow store grants to a run is held for its whole time', async () => {
  await slowly(async (client, world, { runtime }) => {
    await client.start({ handlerId: 'h' });
    const lease = await client.lease({ workerId: 'w', handlerIds: ['h'], ttlSeconds: 600 });
    if (lease === null) throw new Error('there was nothing to lease');
    const { leaseToken, workerId } = lease;
    const held = { runId: lease.run.id, workerId, tokenHash: sha256(leaseToken) };
    const wish = { name: 'order-7', scope: null, ttlSeconds: 3, metadata: {} };
    expect(await acquireRunLease(runtime, held, wish, world.now)).toBe(true);
    const store = await runtime.store();
    const keys = [{ key: leaseRecordKey('order-7', null) }];
    const { records } = await store.query(runtime.scope, { by: 'keys', keys });
    expect(Number(records[0]?.head.expiresAt) - world.now).toBe(3_000);
  });
});

test('a checkpoint and an artifact are refused when the lease ended while the store waited', async () => {
  await slowly(async (client) => {
    const leased = async () => {
      await client.start({ handlerId: 'h' });
      const lease = await client.lease({ workerId: 'w', handlerIds: ['h'], ttlSeconds: SLOW_MS / 1_000 - 1 });
      if (lease === null) throw new Error('there was nothing to lease');
      const { leaseKey, leaseToken, workerId } = lease;
      return { leaseKey, leaseToken, workerId };
    };
    const refused = { code: 'lease_not_active' };
    const checkpoint = { key: 'k', content: 1 };
    await expect(client.putCheckpoint({ ...(await leased()), checkpoint })).rejects.toMatchObject(refused);
    const artifact = { name: 'a', text: 'a' };
    await expect(client.putArtifact({ ...(await leased()), artifact })).rejects.toMatchObject(refused);
  });
});
