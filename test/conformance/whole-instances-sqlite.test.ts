import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeTwoInstances } from './whole-scenario.ts';

describeTwoInstances('sqlite', async (collections, folder) => {
  const options = { path: join(folder, 'whole.sqlite'), ...machine, grouping: true, collections };
  return [await openSqliteStore(options), await openSqliteStore(options)];
});
