import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeCanonical } from './canonical.ts';

async function open(grouping: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-canonical-'));
  const clock = { now: () => Date.now() };
  const random = { bytes: (size: number) => randomBytes(size) };
  return openSqliteStore({ path: join(folder, 'canonical.sqlite'), clock, random, grouping });
}

describeCanonical('sqlite', () => open(true), { rivals: 200 });
describeCanonical('sqlite, one transaction each', () => open(false), { rivals: 200 });
