import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { Database } from './process-instance.ts';

const parts = { ...machine, collections };

type Opener<P> = (database: Extract<Database, { provider: P }>) => Promise<RecordStore>;

/** A driver is loaded only when it is requested. */
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

/** The store of a process of its own. Connections and tables are made, so that a start costs no call its place. */
export async function openDatabase(database: Database): Promise<RecordStore> {
  const store = await (openers[database.provider] as Opener<Database['provider']>)(database);
  await store.ping();
  return store;
}
