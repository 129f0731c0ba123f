import { randomBytes } from 'node:crypto';
import { recordId } from '../record-id.ts';
import { openSqliteStore } from './store.ts';

/** A process of its own: increments one counter a given number of times, and prints each count after its answer. */
const [path = '', times = '0'] = process.argv.slice(2);
const store = await openSqliteStore({
  path,
  clock: { now: () => Date.now() },
  random: { bytes: (size) => randomBytes(size) },
  timers: {
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  },
});
const key = { collection: 'counters', id: recordId('n') };
for (let turn = 0; turn < Number(times); turn += 1) {
  const count = await store.transact({ kind: 'system', name: 'test' }, { keys: [{ key }] }, (found) => {
    const next = Number(found.get(key)?.head['count'] ?? 0) + 1;
    return { writes: [{ put: { key, head: { count: next } } }], result: next };
  });
  process.stdout.write(`${count}\n`);
}
await store.close();
