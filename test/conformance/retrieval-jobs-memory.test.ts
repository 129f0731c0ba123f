import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeRetrievalJobs } from './retrieval-jobs.ts';

/** A round trip takes a turn of the event loop, as one to a database does. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describeRetrievalJobs('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase(), { before })));
