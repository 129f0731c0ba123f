import { MemoryDatabase } from '../../simulation/memory-database.ts';
import { type MemoryHooks, MemoryStore } from '../../simulation/memory-store.ts';
import type { TestedStore } from './tested-store.ts';

/** A round trip takes a turn of the event loop, as one to a database does: rivals get a chance, and timers too. */
const before = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

function memory(title: string, hooks: MemoryHooks = {}): TestedStore {
  return {
    name: 'memory',
    title,
    create() {
      const database = new MemoryDatabase();
      return Promise.resolve(() => Promise.resolve(new MemoryStore(database, { before, ...hooks })));
    },
  };
}

export const tested: TestedStore = {
  ...memory('memory'),
  variants: [memory('memory, expected absences unread', { skipsExpectedAbsent: () => true })],
};
