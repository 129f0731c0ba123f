import { describe, expect, test } from 'vitest';
import { executionCollections, runKey } from '../../functions/runs/records.ts';
import { type RecordStore, StoreError, type TransactRequest } from '../../functions/store/port.ts';
import { countedStore } from '../support/counted-store.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { child, waitFor } from './execution-children-stage.ts';
import { begun, leased, proofOf, Stage } from './execution-stage.ts';
import { stores } from './stores/lane.ts';
import { openStore, type StoreName } from './stores/tested-store.ts';

/** Children that end together cost the same each, however many there are, and none of their ends touches the parent. */

const MANY: Readonly<Record<StoreName, number>> = {
  memory: 200,
  sqlite: 1_000,
  postgresql: 1_000,
  mysql: 1_000,
  firestore: 100,
};
const PATIENCE_MS = 600_000;

/** Transactions that request the record. */
function watched(store: RecordStore) {
  const requests: TransactRequest[] = [];
  const transact: RecordStore['transact'] = (scope, request, decide) => {
    requests.push(request);
    return store.transact(scope, request, decide);
  };
  return {
    store: patched(store, { transact }),
    requesting: (runId: string) =>
      requests.splice(0).filter(({ keys }) => keys.some(({ key }) => key.id === runKey(runId).id)).length,
  };
}

/** As workers do, repeats an end that the store refused because of the others: it has written nothing. */
async function taken<T>(call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'contention') throw error;
    }
}

for (const tested of stores)
  describe(`children that end together on ${tested.title}`, () => {
    const many = MANY[tested.name];

    test(
      `lose none of ${many} outcomes, and none of their ends reads the parent`,
      async () => {
        const opened = await openStore(tested, executionCollections);
        const watch = watched(opened);
        const client = new Stage(watch.store).client();
        const { id, proof } = await begun(client, {}, { ttlSeconds: 86_400 });
        const ids: string[] = [];
        for (let at = 0; at < many; at += 1) ids.push(await child(client, proof, `c${at}`));
        const proofs = [];
        for (const runId of ids) proofs.push(proofOf(await leased(client, { runId })));
        watch.requesting(id);
        const results = proofs.map((held, at) =>
          taken(() => client.complete({ ...held, result: { status: 'succeeded', result: at } })),
        );
        await Promise.all(results);
        expect(watch.requesting(id)).toBe(0);
        for (const [at, runId] of ids.entries()) {
          const { outcome } = await waitFor(client, proof, runId);
          expect(outcome?.run).toMatchObject({ runId, status: 'succeeded', result: at });
        }
        await opened.close();
      },
      PATIENCE_MS,
    );

    test('cost a start and an end as many records as the decision says', async () => {
      const counted = countedStore(await openStore(tested, executionCollections));
      const client = new Stage(counted.store).client();
      const { proof } = await begun(client);
      counted.take();
      const runId = await child(client, proof);
      // The parent is read before. Requested: child, counter, parent, name and link; each is written.
      expect(counted.take()).toEqual({ calls: 2, records: 1 + 5 + 5 });
      const held = proofOf(await leased(client, { runId }));
      counted.take();
      await client.complete({ ...held, result: { status: 'succeeded' } });
      // Requested and written: child, counter and link.
      expect(counted.take()).toEqual({ calls: 1, records: 3 + 3 });
      await waitFor(client, proof, runId);
      // Requested: parent, link and child. The answer is read from the link.
      expect(counted.take()).toEqual({ calls: 1, records: 3 });
      const waited = await child(client, proof, 'waited');
      await waitFor(client, proof, waited);
      const last = proofOf(await leased(client, { runId: waited }));
      counted.take();
      await client.complete({ ...last, result: { status: 'succeeded' } });
      // Of the first try only the keys; then the parent too.
      expect(counted.take()).toEqual({ calls: 2, records: 3 + 4 + 4 });
      await counted.store.close();
    });
  });
