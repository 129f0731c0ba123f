import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import { Connection } from './connection.ts';
import { LogCopies } from './log-copies.ts';
import { openSqliteStore } from './store.ts';

const PAGES = 2_000;

let folder: string;
let connection: Connection;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'log-copies-'));
  connection = new Connection(join(folder, 'db.sqlite'), { readOnly: false, busyTimeoutMs: 100 });
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (body TEXT)');
});

afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true, force: true });
});

/** One commit of `pages` pages. */
function write(pages: number): void {
  connection.run('INSERT INTO t VALUES (?)', 'x'.repeat(pages * 4_088));
}

function log(): { log: number; checkpointed: number } {
  return connection.get('PRAGMA wal_checkpoint(NOOP)') ?? { log: 0, checkpointed: 0 };
}

/** Reports a commit, and waits until the thread has done its work. */
async function afterCommit(pages = PAGES, path = join(folder, 'db.sqlite')): Promise<void> {
  const copies = new LogCopies(path, pages);
  copies.committed(connection);
  await copies.close();
}

describe('the copy of the log by a thread', () => {
  test('is made once a quarter of the pages waits', async () => {
    write(PAGES / 4 - 100);
    await afterCommit();
    expect(log().checkpointed).toBe(0);
    write(200);
    await afterCommit();
    const { log: pages, checkpointed } = log();
    expect(pages).toBeGreaterThan(PAGES / 4);
    expect(checkpointed).toBe(pages);
  });

  test('leaves the last quarter to the writer', async () => {
    write((PAGES * 3) / 4 + 10);
    await afterCommit();
    expect(log().checkpointed).toBe(0);
  });

  test('is not made of a short log', async () => {
    write(PAGES);
    await afterCommit(PAGES - 1);
    expect(log().checkpointed).toBe(0);
  });

  test('makes no file where there is none, and leaves the copy to the writer', async () => {
    write(PAGES / 2);
    await afterCommit(PAGES, join(folder, 'moved.sqlite'));
    expect(log().checkpointed).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('moved'))).toEqual([]);
  });
});

describe('a store with a thread', () => {
  const scope = { kind: 'tenants', name: 't' } as const;

  test('keeps its log at the size at which the writer copies it, and leaves none behind', async () => {
    const path = join(folder, 'store.sqlite');
    const store = await openSqliteStore({ path, ...machine, checkpointPages: PAGES });
    const looks = new Connection(path, { readOnly: false, busyTimeoutMs: 100 });
    let longest = 0;
    for (let n = 0; n < 200; n += 1) {
      const key = { collection: 'documents', id: `${n}` };
      const put = { key, head: { n }, body: 'x'.repeat(100_000), listing: null };
      await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [{ put }], result: null }));
      const found = looks.get<{ log: number }>('PRAGMA wal_checkpoint(NOOP)');
      longest = Math.max(longest, found?.log ?? 0);
    }
    looks.close();
    // Some 5,000 pages were written: the log was restarted.
    expect(longest).toBeLessThan(2 * PAGES);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test('does not hold a process that ends without closing it', () => {
    const program = `
      import { machine } from ${JSON.stringify(join(import.meta.dirname, '../../compose/machine.ts'))};
      import { openSqliteStore } from ${JSON.stringify(join(import.meta.dirname, 'store.ts'))};
      const path = ${JSON.stringify(join(folder, 'left.sqlite'))};
      const store = await openSqliteStore({ path, ...machine, checkpointPages: ${PAGES} });
      for (let n = 0; n < 40; n += 1) {
        const key = { collection: 'documents', id: String(n) };
        const put = { key, head: { n }, body: 'x'.repeat(100_000), listing: null };
        await store.transact({ kind: 'tenants', name: 't' }, { keys: [{ key }] }, () => ({ writes: [{ put }], result: null }));
      }`;
    const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      timeout: 60_000,
      stdio: 'ignore',
    });
    expect(status).toBe(0);
  });
});
