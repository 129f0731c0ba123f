import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ExecutionClient, executionInstance, ownScope } from '../../test/support/execution.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { type ListSelection, type RecordStore, StoreError } from '../store/port.ts';
import { storeChanges } from './assemble.ts';
import { settleDue } from './settle.ts';

/** Handlers of external workers with one concurrency key, in a process that nothing but its own messages wakes. */

function process(store: RecordStore) {
  const world = new ManualWorld();
  const made = executionInstance(store, {
    world,
    scope: ownScope(),
    external: [
      { handlerId: 'keyed', concurrencyKey: 'key' },
      { handlerId: 'too', concurrencyKey: 'key' },
      { handlerId: 'free' },
    ],
    mayHaveChanged: () => false,
  });
  /** The answer that a waiting call gets before its time is over, else `null`. */
  const answer = async <T>(waiting: Promise<T>): Promise<T> => {
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    world.advance(20_000);
    return waiting;
  };
  return { client: new ExecutionClient(made), answer, world };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

const wish = (workerId: string, ...handlerIds: string[]) => ({ workerId, handlerIds, waitSeconds: 20 });

type Lease = Awaited<ReturnType<ExecutionClient['lease']>>;

async function complete(client: ExecutionClient, lease: Lease, workerId: string): Promise<void> {
  if (lease === null) throw new Error('the worker has no run');
  const { leaseKey, leaseToken } = lease;
  await client.complete({ leaseKey, leaseToken, workerId, result: { status: 'succeeded' } });
}

test('a free key whose next run cannot be read makes a waiting worker search', async () => {
  const plain = new MemoryStore(new MemoryDatabase());
  let fails = false;
  const store: RecordStore = Object.assign(Object.create(plain) as RecordStore, {
    transact: plain.transact.bind(plain),
    query: ((scope, selection: ListSelection) => {
      if (!fails || selection.by !== 'list') return plain.query(scope, selection);
      fails = false;
      return Promise.reject(new StoreError('unavailable', 'away'));
    }) as RecordStore['query'],
  });
  const { client, answer } = process(store);
  await client.start({ handlerId: 'keyed' });
  const next = await client.start({ handlerId: 'keyed' });
  const held = await client.lease(wish('w', 'keyed'));
  const waiting = client.lease(wish('other', 'keyed'));
  await turns();
  fails = true;
  await complete(client, held, 'w');
  expect((await answer(waiting))?.run.id).toBe(next.id);
});

test('runs of a taken key do not hide a run that can be leased', async () => {
  const { client, answer } = process(new MemoryStore(new MemoryDatabase()));
  // The empty search makes the queue of the process complete.
  const first = client.lease(wish('w', 'keyed', 'free'));
  await turns();
  await client.start({ handlerId: 'keyed' });
  expect(await first).not.toBeNull();
  for (let n = 0; n < 101; n += 1) await client.start({ handlerId: 'keyed' });
  const free = await client.start({ handlerId: 'free' });
  const leased = client.lease(wish('other', 'keyed', 'free'));
  expect((await answer(leased))?.run.id).toBe(free.id);
});

test('a run that a failed settling has queued is found by the next search', async () => {
  const plain = new MemoryStore(new MemoryDatabase());
  let fails = false;
  const store: RecordStore = Object.assign(Object.create(plain) as RecordStore, {
    transact: plain.transact.bind(plain),
    query: plain.query.bind(plain),
    claim: (async (...given: Parameters<RecordStore['claim']>) => {
      const claimed = await plain.claim(...given);
      if (fails) throw new StoreError('unavailable', 'the answer is lost');
      return claimed;
    }) as RecordStore['claim'],
  });
  const { client, world } = process(store);
  const run = await client.start({
    handlerId: 'free',
    scheduledAtUtc: new Date(world.now + 1_000).toISOString(),
  });
  expect(await client.lease({ ...wish('w', 'free'), waitSeconds: 0 })).toBeNull();
  world.advance(1_000);
  fails = true;
  await expect(settleDue(client.instance.runtime, world.now)).rejects.toThrow('the answer is lost');
  fails = false;
  const leased = client.lease(wish('w', 'free'));
  await turns();
  world.advance(20_000);
  expect((await leased)?.run.id).toBe(run.id);
});

test('a change of the store is reported twice: its mark may move before the write can be read', () => {
  let mark = 'one';
  const opened = { changeMark: () => mark } as unknown as RecordStore;
  const changed = storeChanges(() => opened);
  expect([changed(), changed(), changed(), changed()]).toEqual([true, true, false, false]);
  mark = 'two';
  expect([changed(), changed(), changed()]).toEqual([true, true, false]);
});
