import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { traceCollections } from '../../functions/traces/store-collections.ts';
import { describeTraces } from './traces.ts';

async function open() {
  const path = join(await mkdtemp(join(tmpdir(), 'svc-traces-')), 'records.sqlite');
  return openSqliteStore({ path, ...machine, collections: traceCollections });
}

describeTraces('sqlite', open, { steps: 60 });
