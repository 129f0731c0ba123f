import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inFolder, sampleDatabase, toolCommandLine } from '../support/operator-tool.ts';

/** The product writes files for its user alone, under any umask of the process. */

const root = join(import.meta.dirname, '../..');
const isWindows = process.platform === 'win32';
const reason = isWindows ? ' (skipped: Windows has no modes of files)' : '';
const init = ['init', '--tenant', 'acme', '--product', 'shop', '--yes', '--api-key'];

/** Files without secrets: other users may read them, and only the owner writes them. */
const readable = new Set([
  'svcsettings.json',
  'svcsettings.schema.json',
  'identity-keys.json',
  'api-keys.json',
]);

/** The modes below a folder, by path; `.` is the folder itself. */
function modesIn(folder: string): Record<string, string> {
  const modeOf = (path: string) => (statSync(join(folder, path)).mode & 0o777).toString(8);
  return Object.fromEntries(
    ['.', ...readdirSync(folder, { recursive: true }).map(String)].map((path) => [path, modeOf(path)]),
  );
}

function wrongIn(folder: string): string[] {
  return Object.entries(modesIn(folder))
    .filter(
      ([path, mode]) => !['700', '600'].includes(mode) && !(mode === '644' && readable.has(basename(path))),
    )
    .map(([path, mode]) => `${path} ${mode}`);
}

function run(umask: string, folder: string, args: readonly string[]): void {
  const command = `umask ${umask}; ${toolCommandLine(args)}`;
  execFileSync('/bin/sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
}

describe.skipIf(isWindows)(`what commands write${reason}`, () => {
  test.each(['000', '077'])('svc init makes folders and secrets for their owner alone under %s', (umask) =>
    inFolder(async (folder) => {
      run(umask, folder, [...init, '--out', 'above/etc']);
      const modes = modesIn(join(folder, 'above'));
      expect(modes).toMatchObject({ '.': '700', etc: '700', 'etc/identity-key.pem': '600' });
      expect(modes['etc/svcsettings.json']).toBe('644');
      expect(wrongIn(join(folder, 'above'))).toEqual([]);
    }),
  );

  test('a folder that was there keeps its mode', () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, 'there'), 0o750);
      run('000', folder, [...init, '--out', 'there']);
      expect(modesIn(join(folder, 'there'))['.']).toBe('750');
    }));

  test('copies are for their owner alone under 000', () =>
    inFolder(async (folder) => {
      await sampleDatabase(join(folder, '.svc/svc.canonical.sqlite'));
      run('000', folder, ['canonical-export', '--tenant', 'tenant-a', '--file', 'copy.json']);
      run('000', folder, ['canonical-archive-export', '--tenant', 'tenant-a', '--directory', 'archive']);
      run('000', folder, ['backup', '--directory', 'above/backups']);
      expect(statSync(join(folder, 'copy.json')).mode & 0o777).toBe(0o600);
      for (const made of ['archive', 'above']) expect(wrongIn(join(folder, made))).toEqual([]);
    }));
});

test('no code of the product makes a folder without a mode', () => {
  const folders = ['cli', 'functions', 'dispatcher', 'emulator', 'sdk/typescript/src'];
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));
  const open = files
    .filter((file) => !/\.(test|fixture)\.ts$/.test(file))
    .flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /\bmkdir(?:Sync)?\((?!.*(?:0o700|privateFolderMode)).*/g,
        ),
      ].map(([call]) => `${file}: ${call}`),
    );
  expect(open).toEqual([]);
});
