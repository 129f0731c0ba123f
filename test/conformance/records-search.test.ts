import { MemoryDatabase } from '../simulation/memory-database.ts';
import { describeRecordSearches } from './records-search.ts';
import { WholeGroups } from './records-search-stage.ts';
import { stores } from './stores/lane.ts';
import type { TestedStore } from './stores/tested-store.ts';

const runs = { memory: 40, sqlite: 20, postgresql: 10, mysql: 10, firestore: 2 };

const narrowsNothing: TestedStore = {
  name: 'memory',
  title: 'memory that narrows nothing',
  create() {
    const database = new MemoryDatabase();
    return Promise.resolve(() => Promise.resolve(new WholeGroups(database)));
  },
};

for (const tested of stores.flatMap((each) => (each.name === 'memory' ? [each, narrowsNothing] : [each])))
  describeRecordSearches(tested, { rivals: 1, runs: runs[tested.name] });
