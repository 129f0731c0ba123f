import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeProviderRuns, providerCollections } from './provider-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-provider-runs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const place = { path: join(folder, 'runs.sqlite'), collections: providerCollections };
describeProviderRuns('sqlite', () => openSqliteStore({ ...place, ...machine }), { rivals: 20 });
