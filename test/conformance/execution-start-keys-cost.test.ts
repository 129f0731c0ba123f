import { describe, expect, test } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { countedStore } from '../support/counted-store.ts';
import { HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import { stores } from './stores/lane.ts';
import { openStore, type StoreName } from './stores/tested-store.ts';

/** Concurrency keys cost the runs that have one, and no others. */

/** Runs of one busy key, which all stand before the run of another key. */
const WAITING: Readonly<Record<StoreName, number>> = {
  memory: 1_000,
  sqlite: 1_000,
  postgresql: 1_000,
  mysql: 1_000,
  firestore: 100,
};
const PATIENCE_MS = 600_000;
const done = { status: 'succeeded' } as const;
const wish = { workerId: 'w', handlerIds: [HANDLER], ttlSeconds: 86_400 };

for (const tested of stores)
  describe(`the cost of concurrency keys on ${tested.title}`, () => {
    async function opened() {
      const counted = countedStore(await openStore(tested, executionCollections));
      const client = new Stage(counted.store).client();
      // The first run creates the counter, and the slot of its key: a record that is there is decided about once.
      await client.start({ handlerId: HANDLER, concurrencyKey: 'k' });
      await client.complete({ ...proofOf(await leased(client)), result: done });
      return { store: counted.store, take: () => counted.take(), client };
    }

    test('a run without a key costs a start, a lease and an end as before', async () => {
      const { client, take, store } = await opened();
      take();
      const { id } = await client.start({ handlerId: HANDLER });
      // Requested and written: run and counter.
      expect(take()).toEqual({ calls: 1, records: 2 + 2 });
      const proof = proofOf(await leased(client, { runId: id }));
      // Requested and written: the run.
      expect(take()).toEqual({ calls: 1, records: 1 + 1 });
      await client.complete({ ...proof, result: done });
      expect(take()).toEqual({ calls: 1, records: 2 + 2 });
      await store.close();
    });

    test('a run with a free key costs one transaction, one read and its slot more', async () => {
      const { client, take, store } = await opened();
      take();
      const { id } = await client.start({ handlerId: HANDLER, concurrencyKey: 'k' });
      expect(take()).toEqual({ calls: 1, records: 2 + 2 });
      const lease = await leased(client, { runId: id });
      // The run is read, then its slot; then both, with the head of the run that had the place. Two are written.
      expect(take()).toEqual({ calls: 3, records: 1 + 1 + 3 + 2 });
      await client.complete({ ...proofOf(lease), result: done });
      // Beside run and counter, the slot is read: no run waits.
      expect(take()).toEqual({ calls: 2, records: 2 + 2 + 1 });
      await store.close();
    });

    test(
      `${WAITING[tested.name]} waiting runs of a busy key cost a lease of another run nothing`,
      async () => {
        const { client, take, store } = await opened();
        const many = WAITING[tested.name];
        for (let at = 0; at < many; at += 1)
          await client.start({ handlerId: HANDLER, concurrencyKey: 'busy' });
        const held = await client.lease(wish);
        // Each run leaves the queue once, with the calls that find it, and a call moves so many of them at most.
        for (let calls = 0; calls < Math.ceil(many / 100); calls += 1) await client.lease(wish);
        expect(await client.lease(wish)).toBeNull();
        const other = await client.start({ handlerId: HANDLER, concurrencyKey: 'other' });
        const plain = await client.start({ handlerId: HANDLER });
        take();
        const ids = [(await client.lease(wish))?.run.id, (await client.lease(wish))?.run.id];
        expect(new Set(ids)).toEqual(new Set([other.id, plain.id]));
        expect(take().records).toBeLessThanOrEqual(16);
        expect(held?.run.concurrencyKey).toBe('busy');
        await store.close();
      },
      PATIENCE_MS,
    );
  });
