import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { machine } from '../../../functions/compose/machine.ts';
import { openSqliteStore } from '../../../functions/store/sqlite/store.ts';
import type { TestedStore } from './tested-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let databases = 0;

function sqlite(title: string, grouping: boolean): TestedStore {
  return {
    name: 'sqlite',
    title,
    create(collections) {
      databases += 1;
      const path = join(folder, `${databases}`, 'store.sqlite');
      return Promise.resolve(() => openSqliteStore({ path, ...machine, grouping, collections }));
    },
  };
}

export const tested: TestedStore = {
  ...sqlite('sqlite', true),
  variants: [sqlite('sqlite, one transaction each', false)],
};
