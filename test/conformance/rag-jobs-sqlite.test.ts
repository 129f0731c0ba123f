import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRagJobs } from './rag-jobs.ts';

describeRagJobs('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-rag-jobs-'));
  const path = join(folder, 'rag.sqlite');
  return openSqliteStore({ path, ...machine, grouping: true, collections: declaredCollections });
});
