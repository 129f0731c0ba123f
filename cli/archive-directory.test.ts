import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SnapshotError } from '../functions/archives/snapshot-error.ts';
import type { ChunkSink } from '../functions/groups/canonical/copies/snapshot/archive.ts';
import { inFolder } from '../test/support/operator-tool.ts';
import { archiveDirectory, writeArchiveDirectory } from './archive-directory.ts';
import { ToolError } from './output.ts';

const bytes = (text: string) => Buffer.from(text);
const first = 'chunk-000000.bin';
const second = 'chunk-000001.bin';

async function writeTwo(sink: ChunkSink): Promise<string> {
  await sink.write(first, bytes('one'));
  await sink.write(second, bytes('two'));
  await sink.write('manifest.json', bytes('{}'));
  return 'written';
}

/** The error of `call`, which must be a message for people without a stack. */
async function refusalOf(call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof SnapshotError || error instanceof ToolError) return error;
  throw new Error(`expected a refusal, not ${String(error)}`, { cause: error });
}

describe('an archive is written', () => {
  test('into a folder that is new, for its owner alone', () =>
    inFolder(async (folder) => {
      const directory = join(folder, 'new');
      expect(await writeArchiveDirectory(directory, writeTwo)).toBe('written');
      expect((await readdir(directory)).sort()).toEqual([first, second, 'manifest.json']);
      expect(String(await readFile(join(directory, second)))).toBe('two');
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
      expect((await stat(join(directory, first))).mode & 0o777).toBe(0o600);
    }));

  test('into a folder that is empty, which stays as it is otherwise', () =>
    inFolder(async (folder) => {
      const { mode } = await stat(folder);
      await writeArchiveDirectory(folder, writeTwo);
      expect(await readdir(folder)).toHaveLength(3);
      expect((await stat(folder)).mode).toBe(mode);
    }));

  test('into no folder that holds something, if only a hidden file', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, '.hidden'), 'x');
      const error = await refusalOf(writeArchiveDirectory(folder, writeTwo));
      expect(error).toMatchObject({ message: expect.stringContaining('is not empty'), exitCode: 4 });
      expect(await readdir(folder)).toEqual(['.hidden']);
    }));

  test('into no place that is not a folder, nor below a missing folder', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'file');
      await writeFile(file, 'x');
      expect((await refusalOf(writeArchiveDirectory(file, writeTwo))).message).toContain('is not a folder');
      const below = writeArchiveDirectory(join(folder, 'missing', 'new'), writeTwo);
      await expect(below).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await readdir(folder)).toEqual(['file']);
    }));

  test('M02: not through a link that appears during the write', () =>
    inFolder(async (folder) => {
      const outside = join(folder, 'outside');
      await writeFile(outside, 'precious');
      const directory = join(folder, 'new');
      const writing = writeArchiveDirectory(directory, async (sink) => {
        await sink.write(first, bytes('one'));
        await symlink(outside, join(directory, second));
        await sink.write(second, bytes('two'));
      });
      await expect(writing).rejects.toMatchObject({ code: 'EEXIST' });
      expect(String(await readFile(outside))).toBe('precious');
      // The tool must not remove files of another owner.
      expect(await readdir(directory)).toEqual([second]);
    }));

  test.each([
    '../evil',
    '/evil',
    'a/b',
    '..',
    '',
    'chunk-000000.bin\0',
    'CHUNK-000000.BIN',
    'manifest.json ',
  ])('M01: under no other name than its own, such as %j', (name) =>
    inFolder(async (folder) => {
      const directory = join(folder, 'new');
      const writing = writeArchiveDirectory(directory, (sink) => sink.write(name, bytes('x')));
      expect((await refusalOf(writing)).message).toContain('is no part of an archive');
      expect(await readdir(folder)).toEqual([]);
    }),
  );

  test('or not at all: what a failure leaves is removed, and the folder with it if it was made', () =>
    inFolder(async (folder) => {
      const failure = new Error('the database went away');
      const failing = async (sink: ChunkSink) => {
        await sink.write(first, bytes('one'));
        throw failure;
      };
      await expect(writeArchiveDirectory(join(folder, 'new'), failing)).rejects.toBe(failure);
      expect(await readdir(folder)).toEqual([]);
      await expect(writeArchiveDirectory(folder, failing)).rejects.toBe(failure);
      expect(await readdir(folder)).toEqual([]);
    }));
});

describe('an archive is read', () => {
  async function withArchive(use: (directory: string, folder: string) => Promise<void>): Promise<void> {
    await inFolder(async (folder) => {
      const directory = join(folder, 'archive');
      await writeArchiveDirectory(directory, writeTwo);
      await use(directory, folder);
    });
  }

  test('with its names and contents', () =>
    withArchive(async (directory) => {
      const source = await archiveDirectory(directory);
      expect([...(await source.names())].sort()).toEqual([first, second, 'manifest.json']);
      expect(String(await source.read(first, 3))).toBe('one');
      expect(await source.read('chunk-000002.bin', 3)).toBeNull();
    }));

  test('through a link that the operator named', () =>
    withArchive(async (directory, folder) => {
      await symlink(directory, join(folder, 'latest'));
      const source = await archiveDirectory(join(folder, 'latest'));
      expect(String(await source.read(first, 3))).toBe('one');
    }));

  test('from no folder that is missing, and from no file', () =>
    withArchive(async (directory) => {
      const missing = await refusalOf(archiveDirectory(join(directory, 'nowhere')));
      expect(missing).toMatchObject({ exitCode: 3 });
      expect((await refusalOf(archiveDirectory(join(directory, first)))).message).toContain(
        'is not a folder',
      );
    }));

  test('M03: never beyond the bound, even where the file system reports a smaller size', () =>
    withArchive(async (directory) => {
      const source = await archiveDirectory(directory);
      expect((await refusalOf(source.read(first, 2))).message).toBe(`${first}: is larger than 2 bytes`);
      await truncate(join(directory, first), 2 ** 40);
      expect((await refusalOf(source.read(first, 1024))).message).toContain('is larger than 1024 bytes');
    }));

  test.each([0, 1, 2, 1_000, 65_536, 65_537])('whole, with %i bytes', (size) =>
    withArchive(async (directory) => {
      const content = Buffer.alloc(size, 'x');
      await writeFile(join(directory, first), content);
      const read = await (await archiveDirectory(directory)).read(first, size);
      const hash = (of: Uint8Array) => createHash('sha256').update(of).digest('hex');
      expect(hash(read ?? bytes('nothing'))).toBe(hash(content));
    }),
  );

  const surprises: [string, (directory: string, folder: string) => Promise<void>][] = [
    [
      'a link to a chunk',
      (directory, folder) => replaced(directory, (to) => symlink(join(folder, 'copy'), to)),
    ],
    ['a link to a folder', (directory, folder) => replaced(directory, (to) => symlink(folder, to))],
    ['a link to nowhere', (directory) => replaced(directory, (to) => symlink('/nowhere/at/all', to))],
    ['a link to a device', (directory) => replaced(directory, (to) => symlink('/dev/zero', to))],
    ['a folder', (directory) => replaced(directory, (to) => mkdir(to))],
    [
      'a pipe without a writer',
      (directory) => replaced(directory, async (to) => execFileSync('mkfifo', [to])),
    ],
  ];
  test.each(surprises)('M02: through no %s', (_, plant) =>
    withArchive(async (directory, folder) => {
      await cp(join(directory, first), join(folder, 'copy'));
      await plant(directory, folder);
      const source = await archiveDirectory(directory);
      expect((await refusalOf(source.read(first, 1_000))).message).toBe(`${first}: is not a plain file`);
      expect((await refusalOf(source.names())).message).toBe(`${first}: is not a plain file`);
    }),
  );

  test.each([
    'notes.txt',
    '.DS_Store',
    'chunk-1.bin',
    'CHUNK-000000.BIN',
    'chunk-000000.bin ',
    'a\nb',
    'CON',
    '..\\x',
  ])('M01: from no folder with a file %j', (name) =>
    withArchive(async (directory) => {
      await writeFile(join(directory, name), 'x');
      const { message } = await refusalOf((await archiveDirectory(directory)).names());
      expect(message).toBe(`${JSON.stringify(name)} is no part of an archive`);
    }),
  );

  test.each(['../outside', '/etc/hostname', '..', '.', 'chunk-000000.bin/../../outside', 'manifest.json\0'])(
    'M01: under no name that leads elsewhere, such as %j',
    (name) =>
      withArchive(async (directory, folder) => {
        await writeFile(join(folder, 'outside'), 'x');
        const source = await archiveDirectory(directory);
        expect((await refusalOf(source.read(name, 1_000))).message).toContain('is no part of an archive');
      }),
  );
});

async function replaced(directory: string, put: (path: string) => Promise<unknown>): Promise<void> {
  await rm(join(directory, first));
  await put(join(directory, first));
}
