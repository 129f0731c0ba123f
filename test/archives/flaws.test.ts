import { expect, test } from 'vitest';
import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { LocalInstance } from '../histories/instance.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { Chronicle } from './chronicle.ts';
import { type Era, makeEra } from './eras.ts';
import { type Flaw, flaws, type Shared, turn } from './flaws.ts';
import { judge } from './judge.ts';
import { sightingOf } from './sighting-of.ts';
import { Traffic } from './traffic.ts';

const TENANT = 'flawed';
const ERAS = 4;
/** Bugs depend on the order of calls, and rare orders need more than one run. */
const RUNS = 4;

const made: Promise<Era[]> = Promise.all(
  Array.from({ length: ERAS }, (_, number) => makeEra(TENANT, number, 0)),
);

/** Restores one archive after the other under the eyes of writers, readers and exports. */
async function faultsWith(flaw?: Flaw): Promise<string[]> {
  const shared: Shared = {
    tenantId: TENANT,
    database: new MemoryDatabase(),
    old: new MemoryDatabase(),
    left: 0,
  };
  const open = (): RecordStore => {
    const store = new MemoryStore(shared.database, { before: turn });
    return flaw === undefined ? store : flaw.spoil(store, shared);
  };
  const eras = await made;
  const chronicle = new Chronicle();
  const restore = async ({ number, objects }: Era, store: RecordStore): Promise<void> => {
    const attempt = chronicle.attempt(number);
    await restoreTenantArchive(store, TENANT, objects);
    attempt.returned = chronicle.tick();
  };
  const [first, ...more] = eras;
  if (first === undefined) throw new Error('there is no era');
  await restore(first, new MemoryStore(shared.database));
  const restorer = open();
  const copy = async () => {
    if (flaw?.seenBy !== 'clients') await sightingOf(chronicle, restorer, TENANT);
  };
  const instances = [new LocalInstance(open()), new LocalInstance(open())];
  const traffic = new Traffic(instances, chronicle, { tenantId: TENANT, writers: 8, readers: 4 });
  traffic.start();
  for (const era of more) {
    await traffic.commits(16);
    await Promise.all([restore(era, restorer), copy()]);
    await traffic.commits(8);
  }
  await traffic.stop();
  await copy();
  return judge(chronicle);
}

test('a store that restores as it should is found without fault', async () => {
  for (let run = 0; run < 2; run++) expect(await faultsWith()).toEqual([]);
});

test.each(flaws)('a store that $name is found out', async (flaw) => {
  for (let run = 0; run < RUNS; run++) {
    const faults = await faultsWith(flaw);
    if (faults.length === 0) continue;
    return;
  }
  expect.fail('it was not');
});
