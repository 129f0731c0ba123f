/**
 * One release, one version: holds the service, the contract and the SDKs against `package.json`, and every fixture of that
 * release against what it was made of.
 *
 *     npm run versions
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { releaseFixtures } from './release-fixtures.ts';

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
  { path: 'contracts/public-sdk-surface.json', read: member('catalogVersion') },
  { path: 'contracts/generated/openapi/svc.json', read: member('info', 'version') },
  { path: 'sdk/typescript/package.json', read: member('version') },
  { path: 'sdk/typescript/src/generated/version.ts', read: match(/^export const VERSION = '([^']+)'/m) },
  { path: 'sdk/python/src/svc_client/_generated/version.py', read: match(/^VERSION = "([^"]+)"/m) },
  { path: 'sdk/wire/requests.json', read: member('version') },
  { path: 'CHANGELOG.md', read: match(/^## (\d+\.\d+\.\d+)/m) },
];

/** What does not say the version of `package.json`; empty when all agree. */
export function versionFaults(root: string): string[] {
  const text = (path: string) => readFileSync(join(root, path), 'utf8');
  const version = member('version')(text('package.json')) ?? '';
  const faults = places.flatMap(({ path, read }) => {
    const said = existsSync(join(root, path)) ? read(text(path)) : undefined;
    return said === version ? [] : [`${path} says ${said ?? 'no version'}, package.json says ${version}`];
  });
  for (const { name, source, text: made } of releaseFixtures(root)) {
    const path = `contracts/releases/${version}/${name}`;
    if (!existsSync(join(root, path))) faults.push(`${path} is missing: npm run release`);
    else if (text(path) !== made) faults.push(`${path} is not ${source}: npm run release`);
  }
  const pyproject = text('sdk/python/pyproject.toml');
  if (
    !pyproject.includes('path = "src/svc_client/_generated/version.py"') ||
    /^version\s*=/m.test(pyproject)
  ) {
    faults.push('sdk/python/pyproject.toml does not take its version from the generated module');
  }
  return faults;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const faults = versionFaults('.');
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log('one version everywhere');
  process.exitCode = faults.length === 0 ? 0 : 1;
}
