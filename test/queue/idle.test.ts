import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { HANDLER, leased, proofOf, Stage } from '../conformance/execution-stage.ts';

/** Two processes have a store each over one file. */
async function file() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-queue-'));
  const path = join(folder, 'runs.sqlite');
  return () => openSqliteStore({ path, ...machine, grouping: true, collections: executionCollections });
}

/** As in the composition root: whether any process has written since the last time. */
function changeOf(store: RecordStore) {
  let mark: string | null = null;
  return () => {
    const before = mark;
    mark = store.changeMark?.() ?? null;
    return mark === null || mark !== before;
  };
}

test('an idle instance asks the database nothing, also while callers wait', async () => {
  const store = await (await file())();
  const stage = new Stage(store);
  const client = stage.client({ mayHaveChanged: changeOf(store) });
  await client.instance.start();
  const parked = await client.start({ handlerId: HANDLER });
  const lease = await leased(client, { runId: parked.id });
  await client.wait({ ...proofOf(lease), kind: 'external_event', name: 'e' });
  const calls = [0, 1].map((index) =>
    client.lease({ workerId: `w-${index}`, handlerIds: [HANDLER], waitSeconds: 20 }),
  );
  // The recheck sees that something was written before, once.
  await stage.pass(5_000);
  const before = stage.storeCalls;
  for (let second = 0; second < 60; second += 1) await stage.pass(1_000);
  expect(stage.storeCalls).toBe(before);
  expect(await Promise.all(calls)).toEqual([null, null]);
  expect(stage.time.pendingTimers).toBe(1);
  await client.instance.stop();
  expect(stage.time.pendingTimers).toBe(0);
  await store.close();
});

test('work that a closed process left starts when it is due, without another write', async () => {
  const open = await file();
  const theirs = await open();
  const ours = await open();
  const stage = new Stage(ours);
  const gone = new Stage(theirs);
  const client = stage.client({ scope: stage.scope, mayHaveChanged: changeOf(ours) });
  await client.instance.start();
  const dying = gone.client({ scope: stage.scope, node: 7 });
  const scheduledAtUtc = new Date(stage.time.now + 20_000).toISOString();
  const held = await dying.start({ handlerId: HANDLER });
  await leased(dying, { runId: held.id, ttlSeconds: 30 });
  const scheduled = await dying.start({ handlerId: HANDLER, scheduledAtUtc });
  await stage.pass(5_000);
  const before = stage.storeCalls;
  await stage.pass(14_999);
  expect(stage.storeCalls).toBe(before);
  await stage.pass(1);
  expect((await leased(client)).run.id).toBe(scheduled.id);
  for (let turn = 0; turn < 2; turn += 1) await stage.pass(5_000);
  expect(await client.get(held.id)).toMatchObject({ status: 'queued', attempt: 1 });
  await client.instance.stop();
  await ours.close();
  await theirs.close();
});

test('the newest announcement of a run counts, also while its trace is moved away', async () => {
  const store = await (await file())();
  const stage = new Stage(store);
  // Only the instance's own announcements trigger a query.
  const client = stage.client({ mayHaveChanged: () => false });
  await client.instance.start();
  const retryPolicy = { maxAttempts: 2, initialDelaySeconds: 3 };
  for (let entries = 0; entries < 20; entries += 1) {
    const { id } = await client.start({ handlerId: HANDLER, retryPolicy });
    const proof = proofOf(await leased(client, { runId: id }));
    for (let entry = 0; entry < entries; entry += 1) await client.record({ ...proof, message: 'm' });
    await Promise.all([
      client.report({ ...proof, update: { attempted: 1 } }),
      client.complete({ ...proof, result: { status: 'failed' } }),
    ]);
    await stage.pass(3_000);
    expect([entries, (await client.get(id)).status]).toEqual([entries, 'queued']);
    await client.cancel(id);
  }
  await client.instance.stop();
  await store.close();
});
