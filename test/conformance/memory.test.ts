import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { describeCanonical } from './canonical.ts';
import { describeRecordStore } from './store.ts';

const open = () => Promise.resolve(new MemoryStore(new MemoryDatabase()));

describeRecordStore('memory', async () => {
  const store = await open();
  return { store, close: () => store.close() };
});

// A store that leaves unread what is expected to be absent must give the very same answers.
describeRecordStore('memory, expected absences unread', async () => {
  const store = new MemoryStore(new MemoryDatabase(), { skipsExpectedAbsent: () => true });
  return { store, close: () => store.close() };
});

describeCanonical('memory', open, { rivals: 50 });
describeCanonical(
  'memory, expected absences unread',
  () => Promise.resolve(new MemoryStore(new MemoryDatabase(), { skipsExpectedAbsent: () => true })),
  { rivals: 50 },
);
