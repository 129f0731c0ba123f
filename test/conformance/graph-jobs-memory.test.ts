import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeGraphJobs } from './graph-jobs.ts';

/** A round trip takes a turn of the event loop, as one to a database does. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describeGraphJobs('memory', () => Promise.resolve(new MemoryStore(new MemoryDatabase(), { before })));
