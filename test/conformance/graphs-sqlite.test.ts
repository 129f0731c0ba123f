import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeGraphs } from './graphs.ts';
import { recordCollections } from './records-stage.ts';

describeGraphs(
  'sqlite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-graphs-'));
    return openSqliteStore({
      path: join(folder, 'graphs.sqlite'),
      ...machine,
      collections: recordCollections,
    });
  },
  200,
);
