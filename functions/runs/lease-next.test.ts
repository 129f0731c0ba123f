import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExecutionClient, executionInstance, ownScope } from '../../test/support/execution.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { machine } from '../compose/machine.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { executionCollections } from './records.ts';
import { settleDue } from './settle.ts';

const wish = { workerId: 'w', handlerIds: ['h'], waitSeconds: 20 };

async function deployment() {
  const path = join(await mkdtemp(join(tmpdir(), 'svc-lease-next-')), 'x.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: executionCollections });
  const world = new ManualWorld();
  const scope = ownScope();
  const instance = (settlesDueRuns: boolean) => {
    const made = executionInstance(store, { world, scope, external: [{ handlerId: 'h' }] });
    Object.assign(made.runtime, { settlesDueRuns: () => settlesDueRuns });
    return made;
  };
  return { store, world, instance };
}

test('without change checks, a waiting call finds a run that another process started', async () => {
  const { store, world, instance } = await deployment();
  const a = new ExecutionClient(instance(false));
  const b = new ExecutionClient(instance(false));
  expect(await a.lease({ ...wish, waitSeconds: 0 })).toBeNull();
  const waiting = a.lease(wish);
  const run = await b.start({ handlerId: 'h' });
  for (let second = 0; second < 20; second += 1) {
    world.advance(1_000);
    await new Promise(setImmediate);
  }
  expect((await waiting)?.run.id).toBe(run.id);
  await store.close();
});

test('a run is found again after a failed write of its lease', async () => {
  const { store, instance } = await deployment();
  const one = instance(true);
  const client = new ExecutionClient(one);
  expect(await client.lease({ ...wish, waitSeconds: 0 })).toBeNull();
  const run = await client.start({ handlerId: 'h' });
  const failing = {
    ...store,
    transact: () => Promise.reject(new Error('away')),
    query: store.query.bind(store),
  };
  const open = one.runtime.store;
  Object.assign(one.runtime, { store: () => Promise.resolve(failing) });
  await expect(client.lease(wish)).rejects.toThrow('away');
  Object.assign(one.runtime, { store: open });
  expect((await client.lease(wish))?.run.id).toBe(run.id);
  await store.close();
});

test('one record that cannot be read does not hold up the others', async () => {
  const { store, world, instance } = await deployment();
  const one = instance(true);
  const client = new ExecutionClient(one);
  const at = (ms: number) => new Date(world.now + ms).toISOString();
  const bad = await client.start({ handlerId: 'h', scheduledAtUtc: at(1_000) });
  const good = await client.start({ handlerId: 'h', scheduledAtUtc: at(2_000) });
  const { runKey } = await import('./records.ts');
  const keys = [{ key: runKey(bad.id), view: 'body' as const }];
  await store.transact(one.runtime.scope, { keys }, (found) => {
    const record = found.get(runKey(bad.id));
    if (record === undefined) throw new Error('gone');
    return { writes: [{ put: { ...record, body: '{' } }], result: null };
  });
  world.advance(3_000);
  await settleDue(one.runtime, world.now);
  expect((await client.get(good.id)).status).toBe('queued');
  await store.close();
});
