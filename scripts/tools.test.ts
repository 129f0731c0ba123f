import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { areInstalled, install } from './tools.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-tools-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;
function fresh(files: Readonly<Record<string, string>>): string {
  const place = join(folder, String((folders += 1)));
  mkdirSync(join(place, 'node_modules'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  return place;
}

const STAMP = 'node_modules/.installed-lock';

test.each<[string, Readonly<Record<string, string>>, boolean]>([
  ['the lock file of today', { 'package-lock.json': 'a', [STAMP]: 'a' }, true],
  ['another lock file', { 'package-lock.json': 'b', [STAMP]: 'a' }, false],
  ['no installation', { 'package-lock.json': 'a' }, false],
  ['no lock file', { [STAMP]: 'a' }, false],
  ['nothing', {}, false],
])('tools of %s', (_, files, expected) => {
  expect(areInstalled(fresh(files))).toBe(expected);
});

const lock = JSON.stringify({
  name: 'tools',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: { '': { name: 'tools', version: '1.0.0' } },
});

test('an installation replaces one of another lock file, and leaves the lock file as it is', () => {
  const place = fresh({
    // One that resolves anew would write this version into the lock file.
    'package.json': JSON.stringify({ name: 'tools', version: '1.1.0', private: true }),
    'package-lock.json': lock,
    [STAMP]: 'of an older lock file',
  });
  expect([install(place), areInstalled(place)]).toEqual([0, true]);
  expect(readFileSync(join(place, 'package-lock.json'), 'utf8')).toBe(lock);
});

test('an installation that fails is none', () => {
  const place = fresh({ 'package.json': 'no description', 'package-lock.json': lock });
  expect([install(place) === 0, areInstalled(place)]).toEqual([false, false]);
});
