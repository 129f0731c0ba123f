import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeProviderRuns } from './provider-runs.ts';

/** A round trip that takes a turn of the event loop, as one to a database does. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
const database = new MemoryDatabase();

describeProviderRuns('memory', () => Promise.resolve(new MemoryStore(database, { before })), {
  rivals: 20,
});
