import { collections } from '../../functions/canonical/records.ts';
import { machine } from '../../functions/compose.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { LocalInstance } from './instance.ts';
import type { Answer, Database, Question } from './process-instance.ts';

/** A process of its own: opens the store that its argument names, and answers calls until the other end closes. */

const parts = { ...machine, collections };

type Opener<P> = (database: Extract<Database, { provider: P }>) => Promise<RecordStore>;

/** A driver is loaded where it is asked for. */
const openers: { readonly [P in Database['provider']]: Opener<P> } = {
  async sqlite({ path }) {
    const { openSqliteStore } = await import('../../functions/store/sqlite/store.ts');
    return openSqliteStore({ ...parts, path });
  },
  async postgresql({ options }) {
    const { openPostgresStore } = await import('../../functions/store/postgres/store.ts');
    return openPostgresStore({ ...parts, ...options });
  },
  async mysql({ options }) {
    const { openMysqlStore } = await import('../../functions/store/mysql/store.ts');
    return openMysqlStore({ ...parts, ...options });
  },
  async firestore({ options }) {
    const { openFirestoreStore } = await import('../../functions/store/firestore/store.ts');
    return openFirestoreStore({ ...parts, ...options });
  },
};

async function answer(instance: LocalInstance, { number, request }: Question): Promise<Answer> {
  try {
    const outcome = await instance.call(request);
    if (outcome.kind !== 'refused') return { number, outcome };
    // An error does not survive the way between processes; what it says does.
    const { code, message, extensions } = outcome.error;
    return { number, refusal: { code, message, extensions } };
  } catch (error) {
    return { number, fault: error instanceof Error ? `${error.stack}` : String(error) };
  }
}

const database = JSON.parse(process.argv[2] ?? '') as Database;
const store = await (openers[database.provider] as Opener<Database['provider']>)(database);
// Connections and tables are made before the first call, so that a start costs no call its place.
await store.ping();
const instance = new LocalInstance(store);
process.on('message', (question: Question) => {
  void answer(instance, question).then((reply) => process.connected && process.send?.(reply));
});
process.on('disconnect', () => {
  void instance.close().then(() => process.exit());
});
process.send?.('ready');
