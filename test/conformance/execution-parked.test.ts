import { describe, expect, test } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { settleSome } from '../../functions/runs/settle.ts';
import { countedStore, type Work } from '../support/counted-store.ts';
import { share } from '../support/effort.ts';
import { DAY_MS, ParkedRuns } from '../support/parked-runs.ts';
import { HANDLER } from './execution-stage.ts';
import { stores } from './stores/lane.ts';
import { openStore, type StoreName, type TestedStore } from './stores/tested-store.ts';

/** Waiting runs of one tenant: their number does not affect the cost of calls for other tenants. */

/** A database that is called over the network takes them in a bounded count. */
const SIZES: Readonly<Record<StoreName, readonly [few: number, many: number]>> = {
  memory: [1_000, 3_000],
  sqlite: [1_000, share(10_000, 100_000)],
  postgresql: [200, share(1_000, 100_000)],
  mysql: [200, share(1_000, 100_000)],
  firestore: [200, 1_000],
};
const GROWTH_MAX = 1.2;
/** The queued runs that a call of a worker reads: the oldest, and a part of the others. */
const PART_MIN = 768;
const CALL_RECORDS_MAX = 2_500;
const MINUTE_MS = 60_000;
const PATIENCE_MS = 600_000;

async function workBeside(tested: TestedStore, count: number): Promise<Readonly<Record<string, Work>>> {
  const counted = countedStore(await openStore(tested, executionCollections));
  const parked = new ParkedRuns(counted.store);
  try {
    await parked.park({ many: count, model: 1 }, () => parked.world.now + DAY_MS);
    // A process that has seen nothing of them.
    const client = parked.clientOver(counted.store, { node: 2 });
    const work: Record<string, Work> = {};
    const other = parked.clientOf('other', counted.store, 3);
    const all = { ...parked.operations(client), 'list of another tenant': () => other.list({ limit: 50 }) };
    for (const [name, operation] of Object.entries(all)) {
      counted.take();
      await operation();
      work[name] = counted.take();
    }
    return work;
  } finally {
    await counted.store.close();
  }
}

for (const tested of stores)
  describe(`runs that wait on ${tested.title}`, () => {
    const [few, many] = SIZES[tested.name];

    test(
      `cost start, lease, list, due read and upkeep no more at ${many} than at ${few}`,
      async () => {
        const [base, grown] = [await workBeside(tested, few), await workBeside(tested, many)];
        for (const [name, { calls, records }] of Object.entries(base)) {
          expect(grown[name]?.calls, `calls of ${name}`).toBeLessThanOrEqual(calls * GROWTH_MAX);
          expect(grown[name]?.records, `records of ${name}`).toBeLessThanOrEqual(records * GROWTH_MAX);
        }
        expect(base['start']?.calls).toBeGreaterThan(0);
        expect(base['list']?.records).toBeGreaterThan(0);
      },
      PATIENCE_MS,
    );

    test(
      `of which ${many} are due in one minute go on without starving another tenant`,
      async () => {
        const work = countedStore(await openStore(tested, executionCollections));
        const { store } = work;
        const parked = new ParkedRuns(store);
        const { world, client } = parked;
        const other = parked.clientOf('other', store, 2);
        const beganAt = world.now;
        const own = 6;
        await parked.park({ many, other: own }, (at, count) => {
          return beganAt + Math.ceil((at + 1) * (MINUTE_MS / count));
        });
        const { runtime } = client.instance;
        let moved = 0;
        for (let tenths = 1; tenths <= own; tenths += 1) {
          world.now = beganAt + tenths * (MINUTE_MS / own);
          const due = Math.ceil((many * tenths) / own) + tenths - moved;
          // As many batches as the runs that are due need, and one that finds nothing more.
          for (let batches = Math.ceil(due / 256) + 1; batches > 0; batches -= 1)
            moved += (await settleSome(runtime, world.now, 256)).length;
          const page = await other.list({ status: 'queued', limit: 50 });
          expect(page, 'runs of the other tenant that go on').toHaveLength(tenths);
        }
        expect(moved).toBe(many + own);
        expect(await settleSome(runtime, world.now, 256)).toEqual([]);
        // All runs of the many are older. A worker of the other tenant may lease none of them, and each of its calls reads a part.
        let calls = Math.ceil(many / PART_MIN) + own;
        for (let leases = 0; leases < own; ) {
          expect(calls, 'calls that are left').toBeGreaterThan(0);
          calls -= 1;
          work.take();
          const lease = await other.lease({ workerId: 'w', handlerIds: [HANDLER] });
          expect(work.take().records).toBeLessThanOrEqual(CALL_RECORDS_MAX);
          if (lease === null) continue;
          expect(lease.run.scope?.tenantId).toBe('other');
          leases += 1;
        }
        await store.close();
      },
      PATIENCE_MS,
    );
  });
