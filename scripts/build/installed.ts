import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPackage, root } from './project.ts';

/** The packages that a platform installs beside the functions: `package.json` and `package-lock.json` of the bundle. */

interface LockedPackage {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Packages of a lock file by their folder.
 * @testonly
 */
export type Locked = Readonly<Record<string, LockedPackage>>;

export interface Installed {
  readonly description: object;
  /** Pins what the named packages depend on, so that each deployment of one bundle runs the same code. */
  readonly lock: { readonly packages: Locked };
}

/** Describes an installation that holds only the named packages, in the versions of this project. */
export function installationOf(names: readonly string[]): Installed {
  const { name, version, license, dependencies } = projectPackage();
  const description = {
    name: `${name}-functions`,
    version,
    private: true,
    license,
    type: 'module',
    main: 'index.js',
    engines: { node: '>=24' },
    dependencies: Object.fromEntries(names.map((each) => [each, exact(each, dependencies[each])])),
  };
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Locked;
  };
  const { engines, dependencies: pinned } = description;
  const own = { name: description.name, version, license, dependencies: pinned, engines };
  const lock = {
    name: description.name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': own, ...neededBy(packages, names) },
  };
  return { description, lock };
}

function exact(name: string, version: string | undefined): string {
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`${name} is not pinned to one version in package.json`);
  return version;
}

/** The named packages and all that they depend on, in the folders of the lock file. */
function neededBy(packages: Locked, names: readonly string[]): Locked {
  const needed = new Set<string>();
  const open = names.map((name) => `node_modules/${name}`);
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const found = packages[path];
    if (found === undefined) throw new Error(`package-lock.json has no ${path}`);
    if (needed.has(path)) continue;
    needed.add(path);
    for (const name of Object.keys(found.dependencies ?? {})) open.push(placeOf(packages, path, name));
    const maybe = { ...found.optionalDependencies, ...found.peerDependencies };
    for (const name of Object.keys(maybe)) {
      const place = findPlace(packages, path, name);
      if (place !== undefined) open.push(place);
    }
  }
  return Object.fromEntries([...needed].sort().map((path) => [path, unmarked(packages[path] ?? {})]));
}

/** Without the marks that say why this project itself installs the package. */
function unmarked(found: LockedPackage): LockedPackage {
  const marks = new Set(['dev', 'devOptional', 'peer', 'optional']);
  return Object.fromEntries(Object.entries(found).filter(([member]) => !marks.has(member)));
}

function placeOf(packages: Locked, from: string, name: string): string {
  const place = findPlace(packages, from, name);
  if (place === undefined) throw new Error(`package-lock.json has no ${name}, which ${from} depends on`);
  return place;
}

/** The folder in which Node finds a package that another one imports: the nearest `node_modules` above. */
function findPlace(packages: Locked, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (place in packages) return place;
    if (folder === '') return undefined;
  }
}
