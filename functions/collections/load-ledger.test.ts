import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { outcomesRecord, readOutcomes } from './load-ledger.ts';
import { spaceScope } from './store-collections.ts';

test('the outcomes of a job are counted page by page while they are read', async () => {
  const store = new MemoryStore(new MemoryDatabase(), { before: () => Promise.resolve() });
  const outcomes = [{ key: { id: 'i', partitionKey: 'p' }, outcome: { etag: 'rev:1', revision: 1 } }];
  for (let at = 0; at < 25; at += 1) {
    const put = outcomesRecord('run', at, outcomes);
    await store.transact(spaceScope('s'), { keys: [{ key: put.key }] }, () => ({
      writes: [{ put }],
      result: null,
    }));
  }
  let counts = 0;
  const refusing = readOutcomes(store, 's', 'run', () => {
    counts += 1;
    if (counts === 21) throw new Error('too much is held');
  });
  await expect(refusing).rejects.toThrow('too much is held');
  expect(counts).toBe(21);
  let bytes = 0;
  const items = await readOutcomes(store, 's', 'run', (more) => void (bytes += more));
  expect(items).toHaveLength(25);
  expect(bytes).toBeGreaterThan(JSON.stringify(items).length);
});
