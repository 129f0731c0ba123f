import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256 } from '../functions/kernel/canonical-json.ts';
import { type ReleaseFixture, releaseFixtures } from './release-fixtures.ts';
import { frozenVersions, HASHES, RELEASES, readHashes, releasedOn } from './release-state.ts';
import { versionFaults } from './versions.ts';

/** Freezes the version of `package.json` below `root` and dates it in the change log, unless a fault stands against it. */
export function freezeRelease(root: string, date: string): { faults: readonly string[]; report: string } {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const place = `${RELEASES}/${version}`;
  const faults = versionFaults(root);
  if (faults.length > 0) return { faults, report: '' };
  if (frozenVersions(root).includes(version))
    return { faults, report: `${place} holds release ${version} already` };
  writeFixtures(root, version, releaseFixtures(root));
  const changelog = join(root, 'CHANGELOG.md');
  writeFileSync(changelog, releasedOn(readFileSync(changelog, 'utf8'), date));
  return { faults, report: `${place} holds release ${version}: commit, and tag it v${version}` };
}

function writeFixtures(root: string, version: string, fixtures: readonly ReleaseFixture[]): void {
  for (const { name, text } of fixtures) {
    const path = join(root, RELEASES, version, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const hashes = Object.fromEntries(fixtures.map(({ name, text }) => [name, sha256(text)]));
  const all = { ...readHashes(root), [version]: hashes };
  writeFileSync(join(root, HASHES), `${JSON.stringify(all, null, 2)}\n`);
}
