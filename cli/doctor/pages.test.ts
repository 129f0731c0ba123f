import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { inFolder, runTool, sampleDatabase } from '../../test/support/operator-tool.ts';
import { makeBackup } from '../backup/backup.ts';
import { pageChecks } from './pages.ts';

const FILE = 'svc.canonical.sqlite';
const PAGE = 4096;

/** The hashes of all files below a folder, by their paths. */
function hashesIn(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const hashed = files.map((file) => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]);
  return { ...Object.fromEntries(hashed), folders: folders.join(' ') };
}

async function sampleIn(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  return sampleDatabase(join(folder, FILE));
}

/** Overwrites the beginning of the first page of the table, where SQLite keeps how it is laid out. */
function damage(path: string, table: string): number {
  const database = new DatabaseSync(path);
  const row = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
  database.close();
  const page = Number(row?.['rootpage']);
  const bytes = readFileSync(path);
  for (let at = 0; at < 8; at += 1) {
    const place = (page - 1) * PAGE + at;
    bytes.writeUInt8(bytes.readUInt8(place) ^ 0xff, place);
  }
  writeFileSync(path, bytes);
  return page;
}

test('the pages of a sound file are counted, and no byte of the folder changes', () =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    const before = hashesIn(folder);
    expect(await pageChecks(path, false)).toEqual([
      {
        id: 'database-pages',
        status: 'ok',
        message: expect.stringMatching(/: \d+ pages of 4096 bytes are sound\.$/),
        remedy: null,
      },
    ]);
    expect(hashesIn(folder)).toEqual(before);
  }));

test('flipped bytes in a page are a failed check that names the page, and leave the exit code 1', () =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    const page = damage(path, 'records_by_id');
    const before = hashesIn(folder);
    const checks = await pageChecks(path, false);
    expect(checks.every(({ status }) => status === 'failed')).toBe(true);
    const last = checks.at(-1)?.message ?? '';
    expect(last).toMatch(/ is damaged: \d+ faults, of pages? /);
    expect(last.match(/\d+/g)).toContain(String(page));
    const { code, stdout } = await runTool(['doctor', '--deep', `--data-dir=${folder}`, '--server:Port=0']);
    expect([code, stdout.includes('database-pages')]).toEqual([1, true]);
    expect(stdout).toContain('svc backup-restore');
    expect(hashesIn(folder)).toEqual(before);
  }));

test('the progress names what is being read', () =>
  inFolder(async (folder) => {
    await sampleIn(folder);
    const args = ['doctor', '--deep', '--verbose', `--data-dir=${folder}`, '--server:Port=0'];
    const { code, stderr } = await runTool(args);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^checking \d+ pages of 4096 bytes …$/m);
    expect(stderr).toMatch(/^checking the table records and its indexes, \d+ of \d+ …$/m);
  }));

test.each([
  ['the header', 0],
  ['the schema', 100],
])('a file with a damaged %s cannot be read, which is a failed check', (_, at) =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x55, at, at + 40));
    const checks = await pageChecks(path, false);
    expect(checks.at(-1)).toMatchObject({ status: 'failed', message: expect.stringContaining('is damaged') });
  }),
);

test('an index that lacks a row is found, and so is a row whose foreign key names none', () =>
  inFolder(async (folder) => {
    const path = join(folder, FILE);
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    database.exec(`
      CREATE TABLE a (id INTEGER PRIMARY KEY, word TEXT, n INTEGER REFERENCES a (id));
      CREATE INDEX a_by_word ON a (word);
      INSERT INTO a VALUES (1, 'first word', 1), (2, 'second word', 7);
    `);
    database.close();
    const bytes = readFileSync(path);
    // The index holds the word again, behind the table.
    bytes.write('firsT', bytes.lastIndexOf('first word'));
    writeFileSync(path, bytes);
    const messages = (await pageChecks(path, false)).map(({ message }) => message).join('\n');
    expect(messages).toContain('row 1 missing from index a_by_word');
    expect(messages).toContain('row 2 of the table a names a missing row of a');
  }));

test('a file that another process opens during the check is no proof of damage', () =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    damage(path, 'records_by_id');
    const looked = pageChecks(path, false);
    // The check lets other work go on before it reads the first page.
    writeFileSync(`${path}-wal`, '');
    expect(await looked).toMatchObject([
      { status: 'warning', message: expect.stringContaining('may be none') },
    ]);
  }));

test('nor is one that a server wrote to, and left cleanly, during the check', () =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    damage(path, 'records_by_id');
    const looked = pageChecks(path, false);
    const server = new DatabaseSync(path);
    server.exec('CREATE TABLE more (id INTEGER)');
    server.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(await looked).toMatchObject([
      {
        status: 'warning',
        message: expect.stringContaining('was written during the look'),
        remedy: 'Look again while no server writes.',
      },
    ]);
  }));

test('damage is named while a server has the database open and writes', () =>
  inFolder(async (folder) => {
    const path = await sampleIn(folder);
    damage(path, 'records_by_id');
    const server = new DatabaseSync(path);
    server.exec('CREATE TABLE more (id INTEGER)');
    const looked = pageChecks(path, false);
    server.exec('INSERT INTO more VALUES (1); PRAGMA wal_checkpoint');
    expect((await looked).at(-1)).toMatchObject({ status: 'failed' });
    server.close();
  }));

/** Database files of many kinds that an operator may examine: no command may change a byte of them. */
const places: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  'a stopped server': async (folder) => {
    await sampleIn(join(folder, 'data'));
    return join(folder, 'data');
  },
  'a backup': async (folder) => {
    const database = await sampleIn(join(folder, 'data'));
    const artifacts = join(folder, 'data', 'artifacts');
    mkdirSync(join(artifacts, 'run-1'), { recursive: true });
    writeFileSync(join(artifacts, 'run-1', 'a'), 'artifact');
    return makeBackup({ database, artifacts }, join(folder, 'backups'), new Date(machine.clock.now()));
  },
  'a copy of the folder of a running server, with its log': async (folder) => {
    const path = await sampleIn(join(folder, 'data'));
    const store = await openSqliteStore({ path, ...machine });
    await store.swap({ kind: 'system', name: 'more' }, none(), () => undefined);
    cpSync(join(folder, 'data'), join(folder, 'copy'), { recursive: true });
    await store.close();
    expect(readdirSync(join(folder, 'copy'))).toContain(`${FILE}-wal`);
    return join(folder, 'copy');
  },
  'a copy of the database and its log, without their shared file': async (folder) => {
    const copy = join(folder, 'copy');
    const path = await sampleIn(join(folder, 'data'));
    const store = await openSqliteStore({ path, ...machine });
    await store.swap({ kind: 'system', name: 'more' }, none(), () => undefined);
    mkdirSync(copy);
    for (const suffix of ['', '-wal']) cpSync(`${path}${suffix}`, join(copy, `${FILE}${suffix}`));
    await store.close();
    return copy;
  },
};

async function* none() {
  // A swap writes its own rows.
}

test.each(Object.entries(places))('doctor and usage change no byte of %s', (_, make) =>
  inFolder(async (folder) => {
    const place = await make(folder);
    const before = hashesIn(place);
    for (const command of [
      ['doctor', `--data-dir=${place}`, '--server:Port=0'],
      ['doctor', '--deep', `--data-dir=${place}`, '--server:Port=0'],
      ['usage', '--canonical-db', join(place, FILE)],
    ]) {
      const temporary = join(folder, 'temporary');
      mkdirSync(temporary, { recursive: true });
      const { code, stdout, stderr } = await runTool(command, { env: { TMPDIR: temporary } });
      expect([code, stderr], stdout).toEqual([0, '']);
      expect(hashesIn(place)).toEqual(before);
      expect(readdirSync(temporary)).toEqual([]);
      expect(stdout).not.toContain(temporary);
    }
  }),
);
