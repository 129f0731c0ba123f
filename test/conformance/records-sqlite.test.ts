import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRecords } from './records.ts';
import { recordCollections } from './records-stage.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-records-'));
  return openSqliteStore({
    path: join(folder, 'records.sqlite'),
    ...machine,
    collections: recordCollections,
  });
}

describeRecords('sqlite', open, { rivals: 20, runs: 30 });
