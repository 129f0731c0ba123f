import {
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';
import { compose } from '../../functions/compose/compose.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import type { Settings } from '../../functions/config/table.ts';
import { createMysqlDatabase, describeMysql } from '../../test/support/mysql.ts';
import { postgresMissing, postgresUrl } from '../../test/support/postgres.ts';
import type { Check } from './check.ts';
import { storageChecks } from './storage.ts';
import { unlessWritten } from './written.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const freshFolder = () => join(root, `data-${folders++}`);
const fileIn = (folder: string) => join(folder, 'svc.canonical.sqlite');

function settingsOf(...argv: string[]): Settings {
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  return settings;
}

const look = (folder: string) => storageChecks(settingsOf(`--data-dir=${folder}`));
const statuses = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ id, status }) => [id, status]));
const of = (checks: readonly Check[], id: string) => checks.find((check) => check.id === id);

/** A folder with a database in the form that the service creates. */
async function served(): Promise<string> {
  const folder = freshFolder();
  const service = compose(settingsOf(`--data-dir=${folder}`), { writeLog: () => undefined });
  await (await service.store()).ping();
  await service.close();
  return folder;
}

test('a database that is not there yet is no fault, and is not made by looking', async () => {
  const folder = join(freshFolder(), 'below', 'that');
  const checks = await look(folder);
  expect(statuses(checks)).toEqual({ 'data-folder': 'ok', 'disk-space': 'ok', database: 'ok' });
  expect(of(checks, 'data-folder')?.message).toContain('is not there yet');
  expect(of(checks, 'database')?.message).toContain('is not there yet');
  expect(existsSync(folder)).toBe(false);
});

test('a deep look at a folder that is not there warns that nothing was read', async () => {
  const folder = freshFolder();
  const unread = { pages: () => Promise.resolve([]), bodies: () => Promise.resolve([]), verbose: false };
  const checks = await storageChecks(settingsOf(`--data-dir=${folder}`), unread);
  expect(statuses(checks)).toEqual({ 'data-folder': 'warning', 'disk-space': 'ok', database: 'warning' });
  expect(of(checks, 'data-folder')?.message).toBe(`${folder} is not there: there is nothing to look at.`);
  expect(of(checks, 'database')?.message).toContain('nothing was read');
  expect(existsSync(folder)).toBe(false);
});

test('a good one answers, and is left as it was', async () => {
  const folder = await served();
  const before = readFileSync(fileIn(folder));
  const checks = await look(folder);
  expect(statuses(checks)).toEqual({ 'data-folder': 'ok', 'disk-space': 'ok', database: 'ok' });
  expect(of(checks, 'database')?.message).toBe('The provider sqlite answers.');
  expect(readdirSync(folder)).toEqual(['svc.canonical.sqlite']);
  expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
});

test('a database in use by a server passes, too', async () => {
  const folder = freshFolder();
  const service = compose(settingsOf(`--data-dir=${folder}`), { writeLog: () => undefined });
  await (await service.store()).ping();
  expect(of(await look(folder), 'database')).toMatchObject({ status: 'ok' });
  await (await service.store()).ping();
  await service.close();
});

test.each([
  ['a newer release', 'PRAGMA user_version = 999', 'failed', 'newer release (schema 999'],
  ['an older release', 'PRAGMA user_version = 0', 'warning', 'has schema 0; the next start brings it to'],
  [
    'a release with newer searches',
    'INSERT INTO search_versions (version) VALUES (99)',
    'failed',
    'newer release (version 99 of the tables of searches',
  ],
  [
    'a release without searches',
    'DROP TABLE search_versions',
    'ok',
    'the next start makes the tables of searches',
  ],
])('one of %s is not opened', async (_, sql, status, message) => {
  const folder = await served();
  const database = new DatabaseSync(fileIn(folder));
  database.exec(sql);
  database.close();
  const before = readFileSync(fileIn(folder));
  expect(of(await look(folder), 'database')).toMatchObject({
    status,
    message: expect.stringContaining(message),
  });
  expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
});

test('the check distinguishes a foreign database, a file that is no database and an empty file, and changes none', async () => {
  const folder = await served();
  const file = fileIn(folder);
  rmSync(file);
  const foreign = new DatabaseSync(file);
  foreign.exec('CREATE TABLE recipes (id INTEGER PRIMARY KEY)');
  foreign.close();
  expect(of(await look(folder), 'database')).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('of something else'),
  });
  writeFileSync(
    file,
    'this is no database at all, but long enough to be taken for one at first sight'.repeat(20),
  );
  expect(of(await look(folder), 'database')).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('cannot be read'),
  });
  writeFileSync(file, '');
  expect(of(await look(folder), 'database')).toMatchObject({
    status: 'ok',
    message: expect.stringContaining('is empty'),
  });
  expect(readFileSync(file).length).toBe(0);
});

/** As for a process that may not write: the rights of a folder do not bind root. */
const mayOnlyRead = async (_: string, mode: number) => {
  if ((mode & constants.W_OK) !== 0) throw Object.assign(new Error('no'), { code: 'EACCES' });
};

test('the database of a folder that cannot be written to is looked at', async () => {
  const folder = await served();
  const settings = settingsOf(`--data-dir=${folder}`);
  const plain = await storageChecks(settings, null, mayOnlyRead);
  expect(statuses(plain)).toEqual({ 'data-folder': 'failed', 'disk-space': 'ok', database: 'ok' });
  const sound = (id: string) => async () => [{ id, status: 'ok', message: 'sound', remedy: null } as const];
  const deep = { pages: sound('database-pages'), bodies: sound('stored-bodies'), verbose: false };
  expect(statuses(await storageChecks(settings, deep, mayOnlyRead))).toEqual({
    'data-folder': 'warning',
    'disk-space': 'ok',
    'database-pages': 'ok',
    database: 'ok',
    'stored-bodies': 'ok',
  });
});

test('a folder that cannot be entered, or cannot be made, ends the look', async () => {
  const nothing = () => Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }));
  for (const [folder, mayUse] of [
    [await served(), nothing],
    [freshFolder(), mayOnlyRead],
  ] as const) {
    const checks = await storageChecks(settingsOf(`--data-dir=${folder}`), null, mayUse);
    expect(statuses(checks)).toEqual({ 'data-folder': 'failed' });
  }
});

test('faults of a database that was written during the look are one warning', async () => {
  const folder = await served();
  const path = fileIn(folder);
  const fault = { id: 'database', status: 'failed', message: 'torn', remedy: 'Restore.' } as const;
  const write = async () => {
    const server = new DatabaseSync(path);
    server.exec('CREATE TABLE more (id INTEGER)');
    server.close();
    return [fault, fault];
  };
  expect(await unlessWritten(path, async () => [fault])).toEqual([fault]);
  expect(await unlessWritten(path, write)).toMatchObject([
    { id: 'database', status: 'warning', message: expect.stringContaining('the 2 faults found may be none') },
  ]);
});

test('the check reports an unusable folder and looks for nothing in it', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'below')]) {
    const checks = await look(folder);
    expect(statuses(checks)).toEqual({ 'data-folder': 'failed' });
    expect(of(checks, 'data-folder')?.message).toContain('not a folder');
  }
});

test('a database elsewhere that does not answer fails, without its password', async () => {
  for (const provider of ['postgresql', 'mysql']) {
    const connection = `${provider}://svc:hunter2@127.0.0.1:1/svc`;
    const checks = await storageChecks(
      settingsOf(`--CanonicalStore:Provider=${provider}`, `--CanonicalStore:ConnectionString=${connection}`),
    );
    expect(statuses(checks)).toEqual({ database: 'failed' });
    expect(JSON.stringify(checks)).toContain(`The provider ${provider} does not answer`);
    expect(JSON.stringify(checks)).not.toContain('hunter2');
  }
});

const leftOut = postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`;
test.skipIf(leftOut !== '')(`PostgreSQL answers${leftOut}`, async () => {
  const connection = `--CanonicalStore:ConnectionString=${postgresUrl()}`;
  expect(await storageChecks(settingsOf('--CanonicalStore:Provider=postgresql', connection))).toMatchObject([
    { id: 'database', status: 'ok', message: 'The provider postgresql answers.' },
  ]);
});

describeMysql('MariaDB', () => {
  test('answers', async () => {
    const database = await createMysqlDatabase();
    const connection = `--CanonicalStore:ConnectionString=${database.connectionString}`;
    expect(await storageChecks(settingsOf('--CanonicalStore:Provider=mysql', connection))).toMatchObject([
      { id: 'database', status: 'ok', message: 'The provider mysql answers.' },
    ]);
    await database.drop();
  });
});

test('a store that is switched off is not looked for', async () => {
  expect(await storageChecks(settingsOf('--CanonicalStore:Enabled=false'))).toMatchObject([
    { id: 'database', status: 'ok', message: expect.stringContaining('disabled') },
  ]);
});
