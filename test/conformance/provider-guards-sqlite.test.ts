import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { PROVIDER_GUARDS } from '../../functions/providers/guard-record.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { describeProviderGuards } from './provider-guards.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-guards-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const place = { path: join(folder, 'guards.sqlite'), collections: [PROVIDER_GUARDS] };
describeProviderGuards('sqlite', () => openSqliteStore({ ...place, ...machine }), { rivals: 20 });
