import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installPeer, reasonOf } from '../bench/install-peer.ts';
import type { TriedClient } from './list.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** The project's own packages, and those of `npm run tools`. */
const ownPlaces = [root, join(root, 'tools')];
const INSTALL_MS = 300_000;

/** Where the packages of a client are, or why they are not there. */
export type Installed = { readonly folder: string } | { readonly refused: string };

/** The packages stay in `dist/`, so that a second run installs nothing. */
export async function installed(client: TriedClient): Promise<Installed> {
  const own = await ownPlaceOf(client);
  if (own !== undefined) return { folder: own };
  const folder = join(root, 'dist/mcp-clients', client.name);
  const mark = join(folder, 'installed');
  const wanted = client.packages.map(({ name, version }) => `${name}@${version}`).join(' ');
  if ((await readFile(mark, 'utf8').catch(() => '')) === wanted) return { folder };
  await rm(folder, { recursive: true, force: true });
  const refused = await (client.from === 'npm' ? fromNpm(folder, client) : fromPip(folder, client));
  if (refused !== null) return { refused };
  await writeFile(mark, wanted);
  return { folder };
}

/** Whether the project has the packages in these versions, for itself, for a dependency or as a tool. */
export async function isAtHand(client: TriedClient): Promise<boolean> {
  return (await ownPlaceOf(client)) !== undefined;
}

async function ownPlaceOf({ from, packages }: TriedClient): Promise<string | undefined> {
  if (from === 'pip') return undefined;
  for (const place of ownPlaces) {
    const versions = await Promise.all(packages.map(({ name }) => versionIn(place, name)));
    const isThere = packages.every(({ name, version }, at) =>
      from === 'npm' ? versions[at] === version : name === 'svc' || versions[at] !== undefined,
    );
    if (isThere) return place;
  }
  return undefined;
}

function fromNpm(folder: string, { packages }: TriedClient): Promise<string | null> {
  const [first, ...others] = packages.map(({ name, version = '' }) => ({ name, version }));
  return first === undefined ? Promise.resolve('it has no package') : installPeer(folder, first, ...others);
}

/** Wheels alone: nothing of a package runs while it is installed. */
async function fromPip(folder: string, { packages }: TriedClient): Promise<string | null> {
  const wanted = packages.map(({ name, version }) => `${name}==${version}`);
  const flags = ['--quiet', '--disable-pip-version-check', '--retries', '1', '--only-binary', ':all:'];
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS });
    const python = join(folder, 'bin/python');
    await run(python, ['-m', 'pip', 'install', ...flags, ...wanted], { timeout: INSTALL_MS });
    return null;
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    return /^ERROR: (No matching distribution.*)$/m.exec(stderr)?.[1] ?? reasonOf(error);
  }
}

/** The version of a client: the one that is pinned, or that of the project. */
export async function versionOf({ packages: [client] }: TriedClient): Promise<string> {
  if (client === undefined) throw new Error('the client has no package');
  if (client.name === 'svc') return 'this one';
  const version = client.version ?? (await versionInProject(client.name));
  if (version === undefined) throw new Error(`the project has no ${client.name}`);
  return version;
}

async function versionInProject(name: string): Promise<string | undefined> {
  const versions = await Promise.all(ownPlaces.map((place) => versionIn(place, name)));
  return versions.find((version) => version !== undefined);
}

async function versionIn(place: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(place, 'node_modules', name, 'package.json'), 'utf8').catch(
    () => undefined,
  );
  return text === undefined ? undefined : (JSON.parse(text) as { readonly version: string }).version;
}
