import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeRecords } from './records.ts';

/** A round trip that takes a turn of the event loop, as one to a database does. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describeRecords('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase(), { before })), {
  rivals: 20,
  runs: 60,
});
