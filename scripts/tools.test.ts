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

const description = { name: 'tools', version: '1.0.0', private: true };
const lock = JSON.stringify({
  name: 'tools',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: { '': { name: 'tools', version: '1.0.0' } },
});

test('an installation replaces one of another lock file, and is none where lock file and description differ', () => {
  const own = fresh({
    'package.json': JSON.stringify(description),
    'package-lock.json': lock,
    [STAMP]: 'of an older lock file',
  });
  expect([install(own), areInstalled(own)]).toEqual([0, true]);
  const other = fresh({
    'package.json': JSON.stringify({ ...description, dependencies: { beside: 'file:./beside' } }),
    'package-lock.json': lock,
  });
  mkdirSync(join(other, 'beside'));
  writeFileSync(join(other, 'beside/package.json'), '{"name":"beside","version":"1.0.0"}');
  expect([install(other) === 0, areInstalled(other)]).toEqual([false, false]);
  // An installation that resolves anew would write it.
  expect(readFileSync(join(other, 'package-lock.json'), 'utf8')).toBe(lock);
});
