import { expect, test } from 'vitest';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeProviderGuards, madeAtOnce } from './provider-guards.ts';

/** A round trip that takes a turn of the event loop, as one to a database does. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
const database = new MemoryDatabase();

describeProviderGuards('memory', () => Promise.resolve(new MemoryStore(database, { before })), {
  rivals: 20,
});

test('instances that keep their counts to themselves are found', async () => {
  const stores = [new MemoryStore(new MemoryDatabase()), new MemoryStore(new MemoryDatabase())];
  expect(await madeAtOnce(stores, 20)).toBe(6);
});
