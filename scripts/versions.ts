/**
 * One release, one version: holds the service, the contract and the SDKs against `package.json`, and every frozen release
 * against its hashes. A version has no frozen fixtures while the change log calls it unreleased; once frozen, its fixtures
 * equal their sources until the next version begins.
 *
 *     npm run versions
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { releaseFixtures } from './release-fixtures.ts';
import { byVersion, frozenFaults, frozenVersions, isUnreleased, RELEASES } from './release-state.ts';

interface Place {
  readonly path: string;
  /** The version that the text of the file names. */
  readonly read: (text: string) => string | undefined;
}

const member =
  (...names: readonly string[]) =>
  (text: string): string | undefined => {
    let value: unknown = JSON.parse(text);
    for (const name of names) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
    return typeof value === 'string' ? value : undefined;
  };

const match =
  (pattern: RegExp) =>
  (text: string): string | undefined =>
    pattern.exec(text)?.[1];

/** Where a release names itself. The wheel takes its version from its module. */
const places: readonly Place[] = [
  { path: 'package-lock.json', read: member('version') },
  { path: 'contracts/catalog.json', read: member('catalogVersion') },
  { path: 'contracts/public-sdk-surface.json', read: member('catalogVersion') },
  { path: 'contracts/generated/openapi/svc.json', read: member('info', 'version') },
  { path: 'sdk/typescript/package.json', read: member('version') },
  { path: 'create-svc-app/package.json', read: member('version') },
  { path: 'sdk/typescript/src/generated/version.ts', read: match(/^export const VERSION = '([^']+)'/m) },
  { path: 'sdk/python/src/svc_client/_generated/version.py', read: match(/^VERSION = "([^"]+)"/m) },
  { path: 'sdk/wire/requests.json', read: member('version') },
  { path: 'CHANGELOG.md', read: match(/^## (\d+\.\d+\.\d+)/m) },
  { path: 'docs/versioning.md', read: match(/ clients: (\S+) of each/) },
  { path: 'docs/production.md', read: match(/^version=(\S+)$/m) },
  { path: 'docs/image.md', read: match(/^version=(\S+)$/m) },
  { path: 'docs/deploy.md', read: match(/^export RELEASE=(\S+)$/m) },
];

/** Lists the files whose version differs from that of `package.json`; empty when all agree. */
export function versionFaults(root: string): string[] {
  const text = (path: string) => readFileSync(join(root, path), 'utf8');
  const version = member('version')(text('package.json')) ?? '';
  const faults = places.flatMap(({ path, read }) => {
    const written = existsSync(join(root, path)) ? read(text(path)) : undefined;
    return written === version
      ? []
      : [`${path} says ${written ?? 'no version'}, package.json says ${version}`];
  });
  faults.push(...frozenFaults(root), ...stateFaults(root, version, isUnreleased(text('CHANGELOG.md'))));
  const pyproject = text('sdk/python/pyproject.toml');
  if (
    !pyproject.includes('path = "src/svc_client/_generated/version.py"') ||
    /^version\s*=/m.test(pyproject)
  ) {
    faults.push('sdk/python/pyproject.toml does not take its version from the generated module');
  }
  return faults;
}

/** Whether the frozen fixtures are those of the state of this version. */
function stateFaults(root: string, version: string, unreleased: boolean): string[] {
  const frozen = frozenVersions(root);
  const later = frozen.filter((each) => byVersion(each, version) > 0);
  const faults = later.map((each) => `${RELEASES}/${each} is of a later version than package.json`);
  if (!unreleased)
    return [
      ...faults,
      ...(frozen.includes(version)
        ? sourceFaults(root, version)
        : [`CHANGELOG.md dates ${version}, which is not frozen: call it unreleased, then npm run release`]),
    ];
  if (!frozen.includes(version)) return faults;
  return [...faults, `CHANGELOG.md calls ${version} unreleased, but ${RELEASES}/${version} exists`];
}

/** The sources of a released version that say something else than its fixtures: they belong to the next version. */
function sourceFaults(root: string, version: string): string[] {
  return releaseFixtures(root).flatMap(({ name, source, text }) => {
    const path = `${RELEASES}/${version}/${name}`;
    const frozen = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : text;
    return frozen === text ? [] : [`${path} is not ${source}: raise the version, as CONTRIBUTING.md says`];
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const faults = versionFaults('.');
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log('one version everywhere');
  process.exitCode = faults.length === 0 ? 0 : 1;
}
