import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { compareWithModel, turns } from './store-find-model.ts';
import { nearestChecks } from './store-find-nearest.ts';
import { termLifeChecks, termPlaceChecks } from './store-find-terms.ts';
import type { StoreSuite } from './store-suite.ts';

/** All checks of finds. Each is called with a store and another over the same database, and has its own scope. */
export const findChecks = { ...termLifeChecks, ...termPlaceChecks, ...nearestChecks };

export function describeFind(suite: StoreSuite): void {
  describe('find', () => {
    let other: RecordStore | undefined;
    const stores = () => {
      if (other === undefined) throw new Error('the other store is not open');
      return [suite.store(), other] as const;
    };
    beforeAll(async () => {
      other = await suite.another();
    });
    afterAll(() => other?.close());

    test.each(Object.entries(findChecks))('%s', async (_, check) => {
      await check(...stores());
    });

    test('finds the same as the model, after any writes', async () => {
      const property = fc.asyncProperty(turns, (cases) => compareWithModel(stores(), cases));
      await fc.assert(property, { numRuns: suite.scale.findCases });
    });
  });
}
