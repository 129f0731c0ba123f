import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import { isOpenToOthers } from './private-files.ts';
import { ProcessLocks } from './process-locks.ts';
import { openSqliteStore } from './store.ts';

let above = '';
beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'private-'));
});
afterEach(() => rm(above, { recursive: true }));

test('a folder that cannot be made is named with the reason', async () => {
  const path = join(above, 'file', 'sub', 'database.sqlite');
  writeFileSync(join(above, 'file'), '');
  await expect(openSqliteStore({ path, ...machine })).rejects.toMatchObject({
    message: 'the folder of the database could not be made: a part of the path is not a folder',
  });
});

function modesIn(folder: string): Record<string, string> {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const files = readdirSync(folder).map((name) => [name, modeOf(join(folder, name))] as const);
  return { '.': modeOf(folder), ...Object.fromEntries(files) };
}

async function writtenStore(path: string) {
  const store = await openSqliteStore({ path, ...machine });
  const key = { collection: 'c', id: '0' };
  await store.transact({ kind: 'system', name: 's' }, { keys: [{ key }] }, () => ({
    writes: [{ put: { key, head: {} } }],
    result: null,
  }));
  return store;
}

const isWindows = process.platform === 'win32';
const reason = isWindows ? ' (skipped: Windows has no modes of files)' : '';

describe.skipIf(isWindows)(`the files of a database${reason}`, () => {
  test('the folders that the store makes are for its user alone', async () => {
    const folder = join(above, 'new', 'data');
    const release = new ProcessLocks(join(folder, 'a.sqlite')).hold('p');
    const store = await writtenStore(join(folder, 'a.sqlite'));
    expect(modesIn(folder)).toEqual({
      '.': '700',
      'a.sqlite': '600',
      'a.sqlite-wal': '600',
      'a.sqlite-shm': '600',
      'a.sqlite.p.lock': '600',
    });
    expect(modesIn(join(above, 'new'))['.']).toBe('700');
    release();
    await store.close();
  });

  test('of an earlier release lose the access of others, and a folder of the operator keeps its mode', async () => {
    const folder = join(above, 'data');
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const path = join(folder, 'a.sqlite');
    await (await writtenStore(path)).close();
    chmodSync(path, 0o644);
    const store = await writtenStore(path);
    const modes = { '.': '755', 'a.sqlite': '600', 'a.sqlite-wal': '600', 'a.sqlite-shm': '600' };
    expect(modesIn(folder)).toEqual(modes);
    expect([isOpenToOthers(folder), isOpenToOthers(above), isOpenToOthers(join(above, 'none'))]).toEqual([
      true,
      false,
      false,
    ]);
    await store.close();
  });
});
