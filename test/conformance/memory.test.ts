import { MemoryDatabase } from '../simulation/memory-database.ts';
import { type MemoryHooks, MemoryStore } from '../simulation/memory-store.ts';
import { describeCanonical } from './canonical.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';

/** A round trip that takes a turn of the event loop, as one to a database does: rivals get a chance, and timers too. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

function open(hooks: MemoryHooks = {}, database = new MemoryDatabase()): MemoryStore {
  return new MemoryStore(database, { before, ...hooks });
}

function opened(database: MemoryDatabase, hooks: MemoryHooks): OpenedStore {
  const store = open(hooks, database);
  return { store, another: async () => opened(database, hooks), close: () => store.close() };
}

const variants: Readonly<Record<string, MemoryHooks>> = {
  memory: {},
  // Must give the very same answers.
  'memory, expected absences unread': { skipsExpectedAbsent: () => true },
};

for (const [name, hooks] of Object.entries(variants)) {
  describeRecordStore(name, async () => opened(new MemoryDatabase(), hooks));
  describeCanonical(name, () => Promise.resolve(open(hooks)), { rivals: 50 });
}
