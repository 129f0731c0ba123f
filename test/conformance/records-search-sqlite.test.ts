import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRecordSearches } from './records-search.ts';
import { recordCollections } from './records-stage.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-records-'));
  return openSqliteStore({
    path: join(folder, 'records.sqlite'),
    ...machine,
    collections: recordCollections,
  });
}

describeRecordSearches('sqlite', open, { rivals: 1, runs: 20 });
