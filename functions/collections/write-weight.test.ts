import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createRecordParts } from './parts.ts';
import { createCollection } from './pointers.ts';
import { readPolicy } from './rules/policy.ts';
import { writeChunk } from './write-chunk.ts';

class WeighingStore extends MemoryStore {
  readonly weighsIndexEntries = true;
}

/** Records of 200 different words in the first chunk of a hundred. */
async function firstChunkOf(store: MemoryStore): Promise<number> {
  const limits = { readsPerCallMax: 5_000, pageRecordsMax: 100, answerBytesMax: 4_000_000 };
  const parts = createRecordParts({ store: () => Promise.resolve(store), world: new ManualWorld(), limits });
  await createCollection(parts, 's', readPolicy({ name: 'c' }));
  const words = (n: number) => Array.from({ length: 200 }, (_, at) => `${n % 7}w${at}x${at}`).join(' ');
  const items = Array.from({ length: 100 }, (_, n) => ({
    text: JSON.stringify({ id: `r${n}`, partitionKey: 'p', content: { text: words(n) } }),
  }));
  return (await writeChunk(parts, 's', { name: 'c' }, items, { continueOnError: false })).length;
}

test('a chunk has fewer records where the entries of indexes count in a transaction', async () => {
  expect(await firstChunkOf(new MemoryStore(new MemoryDatabase()))).toBe(100);
  const few = await firstChunkOf(new WeighingStore(new MemoryDatabase()));
  expect(few).toBeGreaterThan(10);
  expect(few).toBeLessThan(50);
});
