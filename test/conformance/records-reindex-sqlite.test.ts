import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeReindex } from './records-reindex-cases.ts';
import { recordCollections } from './records-stage.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-reindex-'));
  const path = join(folder, 'records.sqlite');
  return openSqliteStore({ path, ...machine, collections: recordCollections });
}

describeReindex('sqlite', open, { many: 1_000, few: 60, kills: 10 });
