import { existsSync } from 'node:fs';
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

/** One commit of so many pages. */
function write(pages: number): void {
  connection.run('INSERT INTO t VALUES (?)', 'x'.repeat(pages * 4_088));
}

function log(): { log: number; checkpointed: number } {
  return connection.get('PRAGMA wal_checkpoint(NOOP)') ?? { log: 0, checkpointed: 0 };
}

/** Tells of commits, and waits until the thread has done its work. */
async function told(commits: number, path = join(folder, 'db.sqlite')): Promise<void> {
  const copies = new LogCopies(path, PAGES);
  for (let n = 0; n < commits; n += 1) copies.committed(connection);
  await copies.close();
}

describe('the copy of the log', () => {
  test('is made beside the writer once a quarter of the pages waits', async () => {
    write(PAGES / 4 - 100);
    await told(16);
    expect(log().checkpointed).toBe(0);
    write(200);
    await told(15);
    expect(log().checkpointed).toBe(0);
    await told(16);
    const { log: pages, checkpointed } = log();
    expect(pages).toBeGreaterThan(PAGES / 4);
    expect(checkpointed).toBe(pages);
  });

  test('is ended by the writer where few pages are left of a long log, which then begins anew', async () => {
    write(PAGES);
    const reader = new Connection(join(folder, 'db.sqlite'), { readOnly: true, busyTimeoutMs: 100 });
    reader.run('BEGIN');
    reader.get('SELECT count(*) FROM t');
    await told(16);
    // The log goes on behind what a reader sees.
    write(1);
    reader.close();
    expect(log().log).toBeGreaterThan(PAGES);
    expect(log().checkpointed).toBeLessThan(log().log);
    await told(16);
    expect(log().checkpointed).toBe(log().log);
    write(1);
    expect(log().log).toBeLessThan(10);
  });

  test('is left to the writer where the thread cannot open the database', async () => {
    write(PAGES);
    await told(16, join(folder, 'nowhere', 'db.sqlite'));
    expect(log().checkpointed).toBe(0);
  });

  test('leaves no log behind a store that is closed', async () => {
    const path = join(folder, 'store.sqlite');
    const store = await openSqliteStore({ path, ...machine, checkpointPages: PAGES });
    const scope = { kind: 'tenants', name: 't' } as const;
    for (let n = 0; n < 40; n += 1) {
      const key = { collection: 'documents', id: `${n}` };
      const put = { key, head: { n }, body: 'x'.repeat(100_000), listing: null };
      await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [{ put }], result: null }));
    }
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
