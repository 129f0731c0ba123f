import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeExecution } from './execution.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-execution-'));
  return openSqliteStore({
    path: join(folder, 'execution.sqlite'),
    ...machine,
    grouping: true,
    collections: executionCollections,
  });
}

describeExecution('sqlite', open, { rivals: 200 });
