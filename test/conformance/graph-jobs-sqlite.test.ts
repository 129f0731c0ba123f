import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeGraphJobs } from './graph-jobs.ts';

describeGraphJobs('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-graph-jobs-'));
  const path = join(folder, 'records.sqlite');
  return openSqliteStore({ path, ...machine, grouping: true, collections: declaredCollections });
});
