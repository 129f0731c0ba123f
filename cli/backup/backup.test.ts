import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { inFolder } from '../../test/support/operator-tool.ts';
import { type DataPlaces, makeBackup, removeOld, verifyBackup } from './backup.ts';
import { restoreBackup } from './restore.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 0, second));

interface Bench {
  readonly places: DataPlaces;
  readonly backups: string;
  readonly open: () => DatabaseSync;
}

/** A database in the mode of the service, and one artifact. */
const onData = (use: (bench: Bench) => Promise<void>) =>
  inFolder(async (folder) => {
    const data = join(folder, 'data');
    mkdirSync(join(data, 'artifacts/run-1'), { recursive: true });
    mkdirSync(join(data, 'artifacts/.incoming'));
    writeFileSync(join(data, 'artifacts/run-1/a'), 'artifact');
    writeFileSync(join(data, 'artifacts/.incoming/half'), 'half');
    mkdirSync(join(data, 'artifacts/objects/re'), { recursive: true });
    writeFileSync(join(data, 'artifacts/objects/re/readiness-a.bin'), 'probe');
    const database = join(data, 'svc.canonical.sqlite');
    const open = () => new DatabaseSync(database);
    const made = open();
    made.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)');
    made.close();
    const places = { database, artifacts: join(data, 'artifacts') };
    await use({ places, backups: join(folder, 'backups'), open });
  });

const numbersIn = (database: DatabaseSync) =>
  database
    .prepare('SELECT n FROM t ORDER BY n')
    .all()
    .map(({ n }) => n);

describe('a backup', () => {
  test('holds what a running server has committed, also in its write-ahead log', () =>
    onData(async ({ backups, open, places }) => {
      const server = open();
      server.exec('INSERT INTO t VALUES (2)');
      expect(statSync(`${places.database}-wal`).size).toBeGreaterThan(0);
      const folder = await makeBackup(places, backups, at(1));
      server.exec('INSERT INTO t VALUES (3)');
      server.close();
      const copy = new DatabaseSync(join(folder, 'svc.canonical.sqlite'));
      expect(numbersIn(copy)).toEqual([1, 2]);
      copy.close();
      const { files } = await verifyBackup(folder);
      expect(files.map(({ path }) => path)).toEqual(['artifacts/run-1/a', 'svc.canonical.sqlite']);
    }));

  test('is readable by its owner only', () =>
    onData(async ({ backups, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      const modes = [folder, join(folder, 'svc.canonical.sqlite'), join(folder, 'manifest.json')];
      expect(modes.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(['700', '600', '600']);
    }));

  test('of a damaged database fails, and leaves nothing', () =>
    onData(async ({ backups, open, places }) => {
      const server = open();
      server.exec('PRAGMA journal_mode = DELETE');
      server.close();
      const bytes = readFileSync(places.database);
      writeFileSync(places.database, bytes.fill(0x55, 4096));
      const error = await makeBackup(places, backups, at(1)).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ message: expect.stringContaining(`${places.database} is `) });
      expect(String(error)).not.toContain('.part');
      expect(readdirSync(backups)).toEqual([]);
    }));

  test('that cannot be written names no folder that it has removed', () =>
    onData(async ({ backups, places }) => {
      // A file of the copied artifacts would have to be a folder.
      writeFileSync(join(places.artifacts, 'database'), '');
      const odd = { ...places, database: join(places.artifacts, 'database', 'none') };
      const failed = await makeBackup(odd, backups, at(1)).catch((thrown: unknown) => thrown);
      expect(String(failed)).not.toContain('.part');
      mkdirSync(join(backups, '20260102T030002Z.part'));
      const second = await makeBackup(places, backups, at(2)).catch((thrown: unknown) => thrown);
      expect(second).toMatchObject({
        message: expect.stringMatching(/20260102T030002Z: another backup began in this second$/),
      });
    }));

  test('a folder that is not there is said to be not there', async () => {
    const absent = join(tmpdir(), 'svc-no-backup-here');
    await expect(verifyBackup(absent)).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/^\S+svc-no-backup-here: there is no such folder/) as string,
    });
  });

  test.each<[string, (folder: string) => void, RegExp]>([
    [
      'a changed artifact',
      (folder) => writeFileSync(join(folder, 'artifacts/run-1/a'), 'Artifact'),
      /changed/,
    ],
    ['a missing artifact', (folder) => rmSync(join(folder, 'artifacts/run-1/a')), /is missing/],
    ['a file too many', (folder) => writeFileSync(join(folder, 'artifacts/b'), ''), /not in the manifest/],
    ['no manifest', (folder) => rmSync(join(folder, 'manifest.json')), /no complete backup/],
    ['a damaged manifest', (folder) => writeFileSync(join(folder, 'manifest.json'), '{'), /damaged/],
  ])('with %s is refused', (_, harm, message) =>
    onData(async ({ backups, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      harm(folder);
      await expect(verifyBackup(folder)).rejects.toThrow(message);
      await expect(restoreBackup(folder, places, { replace: true, now: at(9) })).rejects.toThrow(message);
      expect(existsSync(places.database)).toBe(true);
    }),
  );

  test('takes the place of the oldest ones, and of what an interrupted one left', () =>
    onData(async ({ backups, places }) => {
      for (const second of [1, 2, 3]) await makeBackup(places, backups, at(second));
      mkdirSync(join(backups, '20260102T030000Z.part'));
      mkdirSync(join(backups, 'mine'));
      await removeOld(backups, 2, join(backups, '20260102T030003Z'));
      expect(readdirSync(backups).sort()).toEqual(['20260102T030002Z', '20260102T030003Z', 'mine']);
    }));
});

test('the newest backup stays where a wrong clock gave older ones later names', () =>
  onData(async ({ backups, places }) => {
    await makeBackup(places, backups, at(5));
    const newest = await makeBackup(places, backups, at(1));
    expect(await removeOld(backups, 1, newest)).toEqual([]);
    expect(existsSync(newest)).toBe(true);
  }));

describe('a restore', () => {
  test('puts the backup in place, and sets aside what was there', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      const later = open();
      later.exec('INSERT INTO t VALUES (2)');
      later.close();
      writeFileSync(join(places.artifacts, 'run-1/b'), 'later');
      await expect(restoreBackup(folder, places, { replace: false, now: at(9) })).rejects.toThrow(
        '--replace',
      );
      const { before } = await restoreBackup(folder, places, { replace: true, now: at(9) });
      const restored = open();
      expect(numbersIn(restored)).toEqual([1]);
      restored.close();
      expect(readdirSync(join(places.artifacts, 'run-1'))).toEqual(['a']);
      const aside = new DatabaseSync(before ?? '');
      expect(numbersIn(aside)).toEqual([1, 2]);
      aside.close();
    }));

  test('refuses while a process has the database open, and changes nothing', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      const server = open();
      server.exec('INSERT INTO t VALUES (2)');
      await expect(restoreBackup(folder, places, { replace: true, now: at(9) })).rejects.toThrow('is in use');
      server.exec('INSERT INTO t VALUES (3)');
      expect(numbersIn(server)).toEqual([1, 2, 3]);
      server.close();
    }));

  test('replaces a damaged database, and keeps it with its log', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      writeFileSync(places.database, 'no database '.repeat(1_000));
      writeFileSync(`${places.database}-wal`, 'a log');
      const { before } = await restoreBackup(folder, places, { replace: true, now: at(9) });
      expect(readFileSync(before ?? '', 'utf8')).toContain('no database');
      const restored = open();
      expect(numbersIn(restored)).toEqual([1]);
      restored.close();
    }));

  test('takes nothing from the log of a database that was removed', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      const server = open();
      server.exec('INSERT INTO t VALUES (2)');
      const log = readFileSync(`${places.database}-wal`);
      server.close();
      rmSync(places.database);
      writeFileSync(`${places.database}-wal`, log);
      await restoreBackup(folder, places, { replace: false, now: at(9) });
      const restored = open();
      expect(numbersIn(restored)).toEqual([1]);
      restored.close();
      expect(readFileSync(`${places.database}.before-20260102T030009Z-wal`).equals(log)).toBe(true);
    }));

  test('that cannot copy the artifacts leaves the present data in place', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      const later = open();
      later.exec('INSERT INTO t VALUES (2)');
      later.close();
      const artifacts = join(places.database, 'artifacts');
      const restore = restoreBackup(folder, { ...places, artifacts }, { replace: true, now: at(9) });
      await expect(restore).rejects.toThrow();
      const present = open();
      expect(numbersIn(present)).toEqual([1, 2]);
      present.close();
    }));

  test('works where there is no data yet', () =>
    onData(async ({ backups, open, places }) => {
      const folder = await makeBackup(places, backups, at(1));
      for (const path of [places.database, places.artifacts]) rmSync(path, { recursive: true });
      expect(await restoreBackup(folder, places, { replace: false, now: at(9) })).toMatchObject({
        before: null,
      });
      const restored = open();
      expect(numbersIn(restored)).toEqual([1]);
      restored.close();
      expect(readFileSync(join(places.artifacts, 'run-1/a'), 'utf8')).toBe('artifact');
    }));
});
