import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { releaseFixtures } from '../scripts/release-fixtures.ts';
import { versionFaults } from '../scripts/versions.ts';
import { wireVectors } from '../scripts/wire-vectors.ts';
import { catalogFaults, type ErrorCode, errorFaults, openApiFaults } from './support/release-gate.ts';
import { type Limit, limitFaults } from './support/release-limits.ts';
import { surfaceFaults } from './support/release-surface.ts';

const RELEASES = 'contracts/releases';
const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8')) as T;
const releases = readdirSync(RELEASES).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const OPENAPI = 'contracts/generated/openapi/svc.json';
const CATALOG = 'contracts/public-sdk-surface.json';
const ERRORS = 'contracts/errors.json';
const LIMITS = 'contracts/limits.json';
const VERSIONED = [
  'package-lock.json',
  CATALOG,
  OPENAPI,
  'sdk/typescript/package.json',
  'sdk/typescript/src/generated/version.ts',
  'sdk/python/src/svc_client/_generated/version.py',
  'sdk/wire/requests.json',
  'CHANGELOG.md',
];
const kept = releaseFixtures('.').map(({ name }) => `${RELEASES}/${releases.at(-1)}/${name}`);
/** What a release is made of and kept in. The wire vectors are made of the code. */
const released = [
  'package.json',
  'sdk/python/pyproject.toml',
  ...VERSIONED,
  ...releaseFixtures('.').flatMap(({ source }) => (existsSync(source) ? [source] : [])),
  ...kept,
];

const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the release in hand', () => {
  it('has one version everywhere', () => {
    expect(versionFaults('.')).toEqual([]);
    expect(releases.at(-1)).toBe(read<{ version: string }>('package.json').version);
  });

  it.each(VERSIONED)('would not be released with another version in %s', (path) => {
    const { version } = read<{ version: string }>('package.json');
    const copy = copyOfRelease(path);
    expect(versionFaults(copy)).toEqual([]);
    change(copy, path, (text) => text.replace(version, '9.9.9'));
    expect(versionFaults(copy)).toContain(`${path} says 9.9.9, package.json says ${version}`);
  });

  it('keeps every fixture', () => {
    const tables = readdirSync('sdk').filter((name) => name.endsWith('.json'));
    expect(tables).toContain('retry-table.json');
    const names = [
      'openapi.json',
      'catalog.json',
      'errors.json',
      'limits.json',
      'wire.json',
      'sdk/requests.json',
      'sdk/scenario.json',
      'sdk/transcript.json',
      'sdk/typescript-surface.txt',
      'sdk/python-surface.txt',
      ...tables.map((name) => `sdk/${name}`),
    ];
    expect(releaseFixtures('.').map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    expect(releaseFixtures('.')).toHaveLength(names.length);
  });

  it.each(kept)('would not be released with another %s, or without it', (path) => {
    const copy = copyOfRelease(path);
    change(copy, path, (text) => `${text} `);
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${path} is not`)]);
    rmSync(join(copy, path));
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${path} is missing`)]);
  });

  it('may be written anew until it is tagged', () => {
    const copy = copyOfRelease('anew');
    const { version } = read<{ version: string }>('package.json');
    const write = () =>
      spawnSync(process.execPath, [resolve('scripts/release.ts')], { cwd: copy, encoding: 'utf8' });
    change(copy, LIMITS, (text) => `${text} `);
    expect(write().stderr, 'no clone can tell').toContain('raise the version');
    const git = (...args: string[]) => {
      const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
      expect(spawnSync('git', [...who, ...args], { cwd: copy }).status, args.join(' ')).toBe(0);
    };
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message', 'x');
    expect(write().stderr, 'no tags were fetched').toContain('git fetch --tags');
    git('tag', 'v0.1.0');
    expect(write().stderr, 'not all of them were').toMatch(/lacks the tags of .*0\.2\.0.*git fetch --tags/);
    expect(versionFaults(copy)).toHaveLength(1);
    const headings = readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## ([0-9.]+) \(/gm);
    const earlier = [...headings].map(([, name]) => `v${name}`).filter((tag) => tag !== `v${version}`);
    for (const tag of earlier) git('tag', '--force', tag);
    expect([write().status, versionFaults(copy)]).toEqual([0, []]);
    git('tag', `v${version}`);
    expect(write().status, 'nothing changed').toBe(0);
    change(copy, LIMITS, (text) => `${text} `);
    expect(write()).toMatchObject({ status: 1, stderr: expect.stringContaining('raise the version') });
    expect(versionFaults(copy)).toHaveLength(1);
  });
});

function copyOfRelease(name: string): string {
  const copy = join(folder, `copy-${name.replaceAll('/', '-')}`);
  for (const each of released) cpSync(each, join(copy, each));
  return copy;
}

function change(copy: string, path: string, by: (text: string) => string): void {
  const place = join(copy, path);
  writeFileSync(place, by(readFileSync(place, 'utf8')));
}

describe.each(releases)('release %s still holds', (release) => {
  const promised = join(RELEASES, release);

  it('in the OpenAPI document: nothing a client relies on was taken away', async () => {
    expect(await openApiFaults(join(RELEASES, release, 'openapi.json'), OPENAPI)).toEqual([]);
  });

  it('in the catalog', () => {
    expect(catalogFaults(read(promised, 'catalog.json'), read(CATALOG))).toEqual([]);
  });

  it('in the error codes', () => {
    const { errors } = read<{ errors: ErrorCode[] }>(promised, 'errors.json');
    expect(errorFaults(errors, read<{ errors: ErrorCode[] }>(ERRORS).errors)).toEqual([]);
  });

  it('in the limits, of which none was narrowed', () => {
    const { limits } = read<{ limits: Limit[] }>(promised, 'limits.json');
    expect(limitFaults(limits, read<{ limits: Limit[] }>(LIMITS).limits)).toEqual([]);
  });

  it.for(['typescript', 'python'])('in all that callers of the SDK for %s can name', (language, { skip }) => {
    const surface = join(promised, 'sdk', `${language}-surface.txt`);
    if (!existsSync(surface)) skip('this release kept no list of it');
    expect(
      surfaceFaults(readFileSync(surface, 'utf8'), readFileSync(`sdk/${language}/surface.txt`, 'utf8')),
    ).toEqual([]);
  });

  it('in every hash, id and record that it wrote', () => {
    expect(JSON.parse(JSON.stringify(wireVectors()))).toEqual(read(promised, 'wire.json'));
  });
});

describe('the fixtures of a release', () => {
  const git = (...args: string[]) =>
    spawnSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 }).stdout?.trim() ?? '';
  const tagged = git('tag', '--list', 'v*')
    .split('\n')
    .filter((tag) => releases.includes(tag.slice(1)));

  it.skipIf(tagged.length === 0)('are those of its tag (skipped where the copy has no tags)', () => {
    for (const tag of tagged) {
      const place = `${RELEASES}/${tag.slice(1)}`;
      expect(git('diff', '--name-only', tag, '--', place), tag).toBe('');
    }
  });
});
