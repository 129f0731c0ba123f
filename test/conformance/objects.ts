import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeArtifacts } from './objects-artifacts.ts';
import { describeObjectLife } from './objects-life.ts';
import { describeObjectLists } from './objects-list.ts';
import type { ObjectsConformance } from './objects-stage.ts';
import { describeObjectUpkeep } from './objects-upkeep.ts';

/** Objects against any provider. Each test owns a space and a place for large bytes. */
export function describeObjects(
  name: string,
  open: () => Promise<RecordStore>,
  { skip, ...options }: Omit<ObjectsConformance, 'store'> & { readonly skip?: string },
): void {
  describe.skipIf(skip !== undefined)(`objects on ${name}${skip ?? ''}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: ObjectsConformance = { store: () => store, ...options };
    describeObjectLife(conformance);
    describeObjectLists(conformance);
    describeObjectUpkeep(conformance);
    describeArtifacts(conformance);
  });
}
