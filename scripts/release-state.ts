import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../functions/kernel/canonical-json.ts';
import { PINS, unpacked } from './release-pins.ts';

export const RELEASES = 'contracts/releases';
/**
 * The hash of every fixture of every release, also of those that were compacted into pins; for the pins, the hash of their
 * text, because another build of the compressor may write other bytes.
 */
export const HASHES = `${RELEASES}/hashes.json`;

export type FixtureHashes = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The versions with frozen fixtures, oldest first. */
export function frozenVersions(root: string): readonly string[] {
  return readdirSync(join(root, RELEASES), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted(byVersion);
}

export function byVersion(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** The newest heading of the change log names the version in hand, and its date or `unreleased`. */
export function isUnreleased(changelog: string): boolean {
  return /^## \d+\.\d+\.\d+ \((.*)\)$/m.exec(changelog)?.[1] === 'unreleased';
}

/** The change log in which the unreleased version has this date. */
export function releasedOn(changelog: string, date: string): string {
  return changelog.replace(/^(## \d+\.\d+\.\d+) \(unreleased\)$/m, `$1 (${date})`);
}

export function readHashes(root: string): FixtureHashes {
  return JSON.parse(readFileSync(join(root, HASHES), 'utf8')) as FixtureHashes;
}

/** Every difference between the frozen files and the hashes that their releases wrote. */
export function frozenFaults(root: string): string[] {
  const hashes = readHashes(root);
  const unknown = frozenVersions(root).filter((version) => hashes[version] === undefined);
  return [
    ...unknown.map((version) => `${HASHES} has no release ${version}`),
    ...Object.entries(hashes).flatMap(([version, files]) => releaseFaults(root, version, files)),
  ];
}

/** A release keeps its fixtures, or its pins alone once a later release exists. */
function releaseFaults(root: string, version: string, files: Readonly<Record<string, string>>): string[] {
  const { [PINS]: pins, ...fixtures } = files;
  const kept = pins === undefined ? fixtures : { [PINS]: pins };
  return Object.entries(kept).flatMap(([name, hash]) => {
    const path = `${RELEASES}/${version}/${name}`;
    if (!existsSync(join(root, path))) return [`${path} is missing: a frozen release never changes`];
    const bytes = readFileSync(join(root, path));
    if (sha256(name === PINS ? unpacked(bytes) : bytes) === hash) return [];
    return [`${path} is not what was released: a frozen release never changes`];
  });
}
