import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeArtifacts } from './objects-artifacts.ts';
import { describeObjectLife } from './objects-life.ts';
import { describeObjectLists } from './objects-list.ts';
import type { ObjectsConformance } from './objects-stage.ts';
import { describeObjectUpkeep } from './objects-upkeep.ts';
import { recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Objects against any provider. Each test owns a space and a place for large bytes. */
export function describeObjects(tested: TestedStore, effort: Omit<ObjectsConformance, 'store'>): void {
  describe(`objects on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: ObjectsConformance = { store: () => store, ...effort };
    describeObjectLife(conformance);
    describeObjectLists(conformance);
    describeObjectUpkeep(conformance);
    describeArtifacts(conformance);
  });
}
