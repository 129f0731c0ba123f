import { afterAll, describe, expect, test } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { DAY_MS, ParkedRuns } from '../support/parked-runs.ts';
import { type Bill, countBill } from './bill-counter.ts';
import { openTestStore } from './fixtures.ts';

const [FEW, MANY] = [200, 1_000];

describe.skipIf(firestoreMissing !== undefined)(
  `what operations cost on Firestore beside runs that wait ${firestoreMissing ?? ''}`,
  () => {
    const { store, client: firestore } = openTestStore({ collections: executionCollections });
    const counter = countBill(firestore);
    afterAll(() => store.close());

    async function billsBeside(count: number): Promise<Readonly<Record<string, Bill>>> {
      const parked = new ParkedRuns(store);
      await parked.park({ many: count }, () => parked.world.now + DAY_MS);
      const client = parked.clientOver(store, { node: 2 });
      // The first page draws the secret of the tokens.
      await client.list();
      const bills: Record<string, Bill> = {};
      for (const [name, operation] of Object.entries(parked.operations(client))) {
        counter.take();
        await operation();
        bills[name] = counter.take();
      }
      return bills;
    }

    test(`is the same at ${MANY} as at ${FEW}`, async () => {
      const bills = await billsBeside(FEW);
      expect(await billsBeside(MANY)).toEqual(bills);
      // A page of 50 runs is billed as its runs and one that says whether more follow.
      expect(bills['list']?.reads).toBeLessThanOrEqual(60);
      expect(bills['due read']?.reads).toBeLessThanOrEqual(3);
      expect(bills['start']?.writes).toBeGreaterThan(0);
    }, 300_000);
  },
);
