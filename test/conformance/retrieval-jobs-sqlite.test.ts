import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRetrievalJobs } from './retrieval-jobs.ts';

describeRetrievalJobs('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-retrieval-jobs-'));
  const path = join(folder, 'retrieval.sqlite');
  return openSqliteStore({ path, ...machine, grouping: true, collections: declaredCollections });
});
