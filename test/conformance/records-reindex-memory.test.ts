import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeReindex } from './records-reindex-cases.ts';

describeReindex('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase())), {
  many: 1_000,
  few: 120,
  kills: 14,
});
