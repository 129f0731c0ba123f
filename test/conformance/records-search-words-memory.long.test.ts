import * as fc from 'fast-check';
import { test } from 'vitest';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { lexicalAgreement } from './records-search-cases.ts';

test('5,000 searches for words in memory answer the same as brute force', async () => {
  // Each collection in a database of its own: a moment copies all of it.
  const store = () => new MemoryStore(new MemoryDatabase());
  await fc.assert(lexicalAgreement(store, 20), { numRuns: 250 });
});
