import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeRecordSearches } from './records-search.ts';
import { WholeGroups } from './records-search-stage.ts';

describeRecordSearches('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())), {
  rivals: 1,
  runs: 40,
});

describeRecordSearches(
  'memory that narrows nothing',
  () => Promise.resolve(new WholeGroups(new MemoryDatabase())),
  {
    rivals: 1,
    runs: 40,
  },
);
