import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256 } from '../functions/kernel/canonical-json.ts';
import { type ReleaseFixture, releaseFixtures } from './release-fixtures.ts';
import { PINS, packed, pinsText, readPins } from './release-pins.ts';
import { frozenVersions, HASHES, RELEASES, readHashes, releasedOn } from './release-state.ts';
import { versionFaults } from './versions.ts';

/**
 * Freezes the version of `package.json` below `root` and dates it in the change log, unless a fault stands against it. Every
 * older release is compacted into its pins.
 */
export function freezeRelease(root: string, date: string): { faults: readonly string[]; report: string } {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const place = `${RELEASES}/${version}`;
  const faults = versionFaults(root);
  if (faults.length > 0) return { faults, report: '' };
  const older = frozenVersions(root);
  if (older.includes(version)) return { faults, report: `${place} holds release ${version} already` };
  for (const each of older) compactRelease(root, each);
  writeFixtures(root, version, releaseFixtures(root));
  const changelog = join(root, 'CHANGELOG.md');
  writeFileSync(changelog, releasedOn(readFileSync(changelog, 'utf8'), date));
  return { faults, report: `${place} holds release ${version}: commit, and tag it v${version}` };
}

/** Replaces the fixtures of a release by its pins; their hashes stay, so a copy from elsewhere can be verified. */
export function compactRelease(root: string, version: string): void {
  const folder = join(root, RELEASES, version);
  if (readHashes(root)[version]?.[PINS] !== undefined) return;
  const text = pinsText(readPins(folder));
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  writeFileSync(join(folder, PINS), packed(text));
  writeHashes(root, version, { ...readHashes(root)[version], [PINS]: sha256(text) });
}

function writeFixtures(root: string, version: string, fixtures: readonly ReleaseFixture[]): void {
  for (const { name, text } of fixtures) {
    const path = join(root, RELEASES, version, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  writeHashes(root, version, Object.fromEntries(fixtures.map(({ name, text }) => [name, sha256(text)])));
}

function writeHashes(root: string, version: string, hashes: Readonly<Record<string, string>>): void {
  const all = { ...readHashes(root), [version]: hashes };
  writeFileSync(join(root, HASHES), `${JSON.stringify(all, null, 2)}\n`);
}
