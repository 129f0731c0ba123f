import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeObjects } from './objects.ts';
import { recordCollections } from './records-stage.ts';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-objects-'));
  return openSqliteStore({
    path: join(folder, 'objects.sqlite'),
    ...machine,
    collections: recordCollections,
  });
}

describeObjects('sqlite', open, { rivals: 20 });
