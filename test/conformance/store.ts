import { afterAll, beforeAll, describe } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeClaim } from './store-claim.ts';
import { describeCount } from './store-count.ts';
import { describeDue } from './store-due.ts';
import { describeFind } from './store-find.ts';
import { declared } from './store-fixtures.ts';
import { describeGroups } from './store-groups.ts';
import { describeLife } from './store-life.ts';
import { describeList } from './store-list.ts';
import { describeQuery } from './store-query.ts';
import { describeScan } from './store-scan.ts';
import { describeSnapshot } from './store-snapshot.ts';
import type { StoreSuite, SuiteScale } from './store-suite.ts';
import { describeSwap } from './store-swap.ts';
import { describeTransact } from './store-transact.ts';
import { describeUnguarded } from './store-transact-unguarded.ts';
import type { TestedStore } from './stores/tested-store.ts';

export interface StoreSuiteOptions {
  /** `small` for providers whose calls take milliseconds rather than microseconds. */
  readonly scale?: 'full' | 'small';
  /**
   * The reason why reads of several keys may show two moments when no commit proves them. It skips that test, whose
   * title names the reason.
   */
  readonly tornReads?: string;
}

const scales: Readonly<Record<'full' | 'small', SuiteScale>> = {
  full: {
    contenders: 12,
    turns: 10,
    listCases: 250,
    listRecords: 60,
    longListRecords: 6000,
    swapRecords: 4000,
    findCases: 60,
  },
  small: {
    contenders: 4,
    turns: 3,
    listCases: 15,
    listRecords: 30,
    longListRecords: 0,
    swapRecords: 300,
    findCases: 5,
  },
};

/** Everything that the doc comments of `RecordStore` promise, asked of one provider. Each test has its own scope. */
export function describeRecordStore(tested: TestedStore, options: StoreSuiteOptions): void {
  describe(`RecordStore: ${tested.title}`, () => {
    let open: () => Promise<RecordStore>;
    let store: RecordStore;
    beforeAll(async () => {
      open = await tested.create(declared);
      store = await open();
    });
    afterAll(() => store.close());
    const suite: StoreSuite = {
      store: () => store,
      another: () => open(),
      scale: scales[options.scale ?? 'full'],
      tornReads: options.tornReads,
    };
    describeTransact(suite);
    describeUnguarded(suite);
    describeQuery(suite);
    describeList(suite);
    describeGroups(suite);
    describeCount(suite);
    describeFind(suite);
    describeClaim(suite);
    describeDue(suite);
    describeSnapshot(suite);
    describeScan(suite);
    describeSwap(suite);
    describeLife(suite);
  });
}
