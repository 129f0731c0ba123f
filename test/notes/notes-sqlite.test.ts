import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeNotes } from './behaviour.ts';
import { notesCollections } from './group/records.ts';

describeNotes('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-notes-'));
  const collections = [...executionCollections, ...notesCollections];
  return openSqliteStore({ path: join(folder, 'notes.sqlite'), ...machine, grouping: true, collections });
});
