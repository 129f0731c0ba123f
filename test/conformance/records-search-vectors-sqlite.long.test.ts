import * as fc from 'fast-check';
import { test } from 'vitest';
import { vectorAgreement } from './records-search-cases.ts';
import { openTemporaryStore } from './records-search-sqlite.ts';

test('5,000 searches for vectors on SQLite answer the same as brute force', async () => {
  await using opened = await openTemporaryStore();
  await fc.assert(
    vectorAgreement(() => opened.store, 20),
    { numRuns: 250 },
  );
});
