import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeProviderJobs, jobCollections } from './provider-jobs.ts';

describeProviderJobs('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-provider-jobs-'));
  const path = join(folder, 'providers.sqlite');
  return openSqliteStore({ path, ...machine, grouping: true, collections: jobCollections });
});
