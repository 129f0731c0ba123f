import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';
import { declared } from './store-fixtures.ts';

for (const grouping of [true, false]) {
  describeRecordStore(`SQLite, ${grouping ? 'grouped' : 'one transaction each'}`, () =>
    openTemporary(grouping),
  );
}

async function openTemporary(grouping: boolean): Promise<OpenedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const path = join(folder, 'data', 'store.db');
  const open = () => openSqliteStore({ path, ...machine, grouping, collections: declared });
  const store = await open();
  return {
    store,
    another: async () => {
      const other = await open();
      return { store: other, close: () => other.close() };
    },
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
