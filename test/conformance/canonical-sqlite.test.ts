import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeCanonical } from './canonical.ts';

async function open(grouping: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-canonical-'));
  return openSqliteStore({ path: join(folder, 'canonical.sqlite'), ...machine, grouping, collections });
}

describeCanonical('sqlite', () => open(true), { rivals: 200 });
describeCanonical('sqlite, one transaction each', () => open(false), { rivals: 200 });
