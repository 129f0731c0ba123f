import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeRag } from './rag.ts';
import { recordCollections } from './records-stage.ts';

describeRag('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-rag-'));
  return openSqliteStore({ path: join(folder, 'rag.sqlite'), ...machine, collections: recordCollections });
});
