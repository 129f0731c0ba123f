import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../functions/store/sqlite/store.ts';
import { recordCollections } from './records-stage.ts';

/** A store in a file of its own, which is removed with the test. */
export async function openTemporaryStore(
  own: Partial<SqliteStoreOptions> = {},
): Promise<AsyncDisposable & { readonly store: RecordStore }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-searches-'));
  const store = await openSqliteStore({
    path: join(folder, 'records.sqlite'),
    ...machine,
    collections: recordCollections,
    ...own,
  });
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
