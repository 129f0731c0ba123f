import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRetrieval } from './retrieval.ts';
import { retrievalCollections } from './retrieval-stage.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-retrieval-'));
  return openSqliteStore({
    path: join(folder, 'records.sqlite'),
    ...machine,
    collections: retrievalCollections,
  });
}

describeRetrieval('sqlite', open);
