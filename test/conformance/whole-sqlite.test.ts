import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeWholeScenario } from './whole-scenario.ts';

describeWholeScenario('sqlite', (collections, folder) =>
  openSqliteStore({ path: join(folder, 'whole.sqlite'), ...machine, grouping: true, collections }),
);
