import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ErrorCode, Limit } from '../scripts/release-contract.ts';
import { releaseFixtures } from '../scripts/release-fixtures.ts';
import { freezeRelease } from '../scripts/release-freeze.ts';
import { LANGUAGES, PINS, packed, pinsText, readPins, unpacked } from '../scripts/release-pins.ts';
import {
  type FixtureHashes,
  frozenFaults,
  frozenVersions,
  HASHES,
  RELEASES,
  readHashes,
} from '../scripts/release-state.ts';
import { versionFaults } from '../scripts/versions.ts';
import { wireVectors } from '../scripts/wire-vectors.ts';
import { catalogFaults, errorFaults, openApiFaults } from './support/release-gate.ts';
import { limitFaults } from './support/release-limits.ts';
import { surfaceFaults } from './support/release-surface.ts';

const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8')) as T;
const releases = frozenVersions('.');
const { version } = read<{ version: string }>('package.json');

const OPENAPI = 'contracts/generated/openapi/svc.json';
const CATALOG = 'contracts/public-sdk-surface.json';
const ERRORS = 'contracts/errors.json';
const LIMITS = 'contracts/limits.json';
const VERSIONED = [
  'package-lock.json',
  'contracts/catalog.json',
  CATALOG,
  OPENAPI,
  'sdk/typescript/package.json',
  'sdk/typescript/src/generated/version.ts',
  'sdk/python/src/svc_client/_generated/version.py',
  'sdk/wire/requests.json',
  'CHANGELOG.md',
];
const kept = releaseFixtures('.').map(({ name }) => `${RELEASES}/${releases.at(-1)}/${name}`);
/** Files that a release reads and writes. The wire vectors come from the code. */
const released = [
  'package.json',
  'sdk/python/pyproject.toml',
  ...VERSIONED,
  ...releaseFixtures('.').flatMap(({ source }) => (existsSync(source) ? [source] : [])),
  RELEASES,
];

const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the release in hand', () => {
  it('has one version everywhere', () => {
    expect(versionFaults('.')).toEqual([]);
  });

  it.each(VERSIONED)('would not be released with another version in %s', (path) => {
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
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${path} is not what was released`)]);
    rmSync(join(copy, path));
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${path} is missing`)]);
  });

  it('has no fixtures while it is unreleased, and may change', () => {
    const copy = unreleased('unreleased');
    change(copy, LIMITS, (text) => `${text} `);
    expect(versionFaults(copy)).toEqual([]);
    mkdirSync(join(copy, RELEASES, version));
    expect(versionFaults(copy)).toContainEqual(expect.stringContaining('calls'));
  });

  it('is frozen once by its release, which dates it', () => {
    const copy = unreleased('frozen');
    expect(freezeRelease(copy, '2030-01-02').faults).toEqual([]);
    const changelog = readFileSync(join(copy, 'CHANGELOG.md'), 'utf8');
    expect(changelog).toContain(`## ${version} (2030-01-02)`);
    expect([versionFaults(copy), frozenVersions(copy).at(-1)]).toEqual([[], version]);
    expect(freezeRelease(copy, '2031-01-02').report, 'nothing changed').toContain('already');
    expect(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8')).toBe(changelog);
    change(copy, LIMITS, (text) => `${text} `);
    const fault = expect.stringMatching(/limits\.json is not contracts\/limits\.json: raise the version/);
    expect(freezeRelease(copy, '2031-01-02').faults).toEqual([fault]);
  });

  it('is not dated without a release', () => {
    const copy = unreleased('dated');
    change(copy, 'CHANGELOG.md', (text) => text.replace('(unreleased)', '(2030-01-02)'));
    expect(versionFaults(copy)).toEqual([expect.stringContaining('is not frozen')]);
  });

  it('is later than every release', () => {
    const copy = unreleased('earlier');
    for (const path of ['package.json', ...VERSIONED])
      change(copy, path, (text) => text.replaceAll(version, '0.0.9'));
    expect(versionFaults(copy)).toContainEqual(expect.stringContaining('is of a later version'));
  });
});

function copyOfRelease(name: string): string {
  const copy = join(folder, `copy-${name.replaceAll('/', '-')}`);
  for (const each of released) cpSync(each, join(copy, each), { recursive: true });
  return copy;
}

/** The project before the release of its version, whether that is released already or not. */
function unreleased(name: string): string {
  const copy = copyOfRelease(name);
  change(copy, 'CHANGELOG.md', (text) => text.replace(/^(## [0-9.]+) \(.*\)$/m, '$1 (unreleased)'));
  rmSync(join(copy, RELEASES, version), { recursive: true, force: true });
  change(copy, HASHES, (text) => {
    const { [version]: _, ...others } = JSON.parse(text) as FixtureHashes;
    return JSON.stringify(others);
  });
  return copy;
}

function change(copy: string, path: string, by: (text: string) => string): void {
  const place = join(copy, path);
  writeFileSync(place, by(readFileSync(place, 'utf8')));
}

describe.each(releases)('release %s still holds', (release) => {
  const promised = readPins(join(RELEASES, release));

  it('in the OpenAPI document: nothing that a client relies on was removed', async () => {
    const document = join(folder, `openapi-${release}.json`);
    writeFileSync(document, JSON.stringify(promised.openapi));
    expect(await openApiFaults(document, OPENAPI)).toEqual([]);
  });

  it('in the catalog', () => {
    expect(promised.catalog.operations).not.toEqual([]);
    expect(catalogFaults(promised.catalog, read(CATALOG))).toEqual([]);
  });

  it('in the error codes', () => {
    expect(errorFaults(promised.errors, read<{ errors: ErrorCode[] }>(ERRORS).errors)).toEqual([]);
  });

  it('in the limits, of which none was narrowed', () => {
    expect(limitFaults(promised.limits, read<{ limits: Limit[] }>(LIMITS).limits)).toEqual([]);
  });

  it.for(LANGUAGES)('in all that callers of the SDK for %s can name', (language, { skip }) => {
    const surface = promised.surfaces[language] ?? skip('this release kept no list of it');
    expect(surfaceFaults(surface, readFileSync(`sdk/${language}/surface.txt`, 'utf8'))).toEqual([]);
  });

  it('in every hash, id and record that it wrote', () => {
    expect(JSON.parse(JSON.stringify(wireVectors()))).toEqual(promised.wire);
  });
});

describe('the fixtures of a release', () => {
  it('are those that it was released with, by their hashes', () => {
    expect(frozenFaults('.')).toEqual([]);
  });

  const compacted = releases.slice(0, -1);
  it.each(compacted)('%s are its pins, which hold one text', (release) => {
    const copy = copyOfRelease(`pins-${release}`);
    const path = join(copy, RELEASES, release, PINS);
    expect(readdirSync(join(RELEASES, release))).toEqual([PINS]);
    writeFileSync(path, packed(unpacked(readFileSync(path)).replace('"409"', '"410"')));
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${release}/${PINS} is not what was`)]);
    rmSync(path);
    expect(versionFaults(copy)).toEqual([expect.stringContaining(`${release}/${PINS} is missing`)]);
  });

  it('become pins with the next release, which hold the same promises', () => {
    const copy = unreleased('compacted');
    const latest = frozenVersions(copy).at(-1) ?? expect.fail();
    const before = readPins(join(copy, RELEASES, latest));
    const hashes = readHashes(copy)[latest];
    expect(freezeRelease(copy, '2030-01-02').faults).toEqual([]);
    expect(readdirSync(join(copy, RELEASES, latest))).toEqual([PINS]);
    expect(readPins(join(copy, RELEASES, latest))).toEqual(before);
    expect(readHashes(copy)[latest]).toMatchObject(hashes ?? {});
    expect(packed(pinsText(before))).toEqual(readFileSync(join(copy, RELEASES, latest, PINS)));
  });
});
