import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, test } from 'vitest';
import { lockDatabases } from './databases.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-databases-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function database(...names: readonly string[]): DatabaseSync {
  const path = join(folder, ...names);
  mkdirSync(join(path, '..'), { recursive: true });
  const opened = new DatabaseSync(path);
  opened.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (a)');
  return opened;
}

test('an open database is found, also while it is idle, in a folder below, and under any name', () => {
  const idle = database('below', 'data');
  expect(lockDatabases(folder)).toBeNull();
  idle.close();
  const release = lockDatabases(folder);
  expect(release).not.toBeNull();
  expect(() => database('below', 'data')).toThrow('database is locked');
  release?.();
  database('below', 'data').close();
});

test('a database of which one is in use leaves no lock on the others', () => {
  database('a').close();
  const used = database('b');
  expect(lockDatabases(folder)).toBeNull();
  database('a').close();
  used.close();
});

test('files that are damaged, or no databases, are in the way of nothing', () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'damaged.sqlite'), `SQLite format 3\0${'x'.repeat(5_000)}`);
  writeFileSync(join(folder, 'lock'), '');
  const release = lockDatabases(folder);
  expect(release).not.toBeNull();
  release?.();
});
