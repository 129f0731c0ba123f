import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { retrievalCollections } from './retrieval-stage.ts';
import { stores } from './stores/lane.ts';
import { openStore } from './stores/tested-store.ts';
import { TwoReleases } from './two-releases.ts';
import { olderAloneAgain, olderBesideNewerAgain, upgradeAndBack } from './two-releases-scenario.ts';

const efforts = {
  memory: { records: 220, pages: 2, every: 2 },
  sqlite: { records: 220, pages: 2, every: 3 },
  postgresql: { records: 160, pages: 1, every: 2 },
  mysql: { records: 160, pages: 1, every: 2 },
  firestore: { records: 60, pages: 1, every: 3 },
};

for (const tested of stores)
  describe(`two releases over one store on ${tested.title}`, () => {
    const effort = efforts[tested.name];
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, retrievalCollections);
    });
    afterAll(() => store.close());

    test('answer every search right, on the way to the next version of the entries and back', async () => {
      expect(await upgradeAndBack(new TwoReleases(store, effort.records), effort)).toBeNull();
    }, 600_000);

    test('find every record again after the older one comes back beside the newer one', async () => {
      expect(await olderBesideNewerAgain(new TwoReleases(store, effort.records), effort)).toBeNull();
    }, 600_000);

    test('find every record again after a roll back that was not announced', async () => {
      expect(await olderAloneAgain(new TwoReleases(store, effort.records), effort)).toBeNull();
    }, 600_000);
  });
