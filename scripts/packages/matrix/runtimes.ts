import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPython } from '../../../test/support/python.ts';
import { projectPackage, root } from '../../build/project.ts';
import { installedBeside } from './beside.ts';
import type { Place } from './place.ts';

/** The runtimes and compilers of users, as the registry and this machine bring them. */

/** The releases of Node, by the word in the name of a cell. The npm packages of Node bring them. */
export const nodes = [
  ['20.19', '20.19.6'],
  ['22', '22.23.5'],
  ['24', '24.21.0'],
  ['26', '26.12.1'],
] as const;

export const compilers = [
  ['5.9', '5.9.3'],
  ['6', '6.0.3'],
  ['7', '7.0.2'],
] as const;

export async function nodeOf(version: string): Promise<string> {
  // That of the project, which is one of the releases.
  if (`v${version}` === process.version) return process.execPath;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const prefix = platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  return join(await installedBeside(`${prefix}-${platform}-${process.arch}`, version), 'bin/node');
}

export async function compilerOf(version: string): Promise<string> {
  const isOwn = projectPackage().devDependencies['typescript'] === version;
  return isOwn ? join(root, 'node_modules/typescript') : installedBeside('typescript', version);
}

export async function buildTools(): Promise<string> {
  const tools = await buildPython();
  if ('missing' in tools) throw new Error(tools.missing);
  return tools.python;
}

/** Those of the project: types of Node are no package of ours, so no cell tries others. */
export async function copyNodeTypes(folder: string): Promise<void> {
  for (const types of ['@types/node', 'undici-types'])
    await cp(join(root, 'node_modules', types), join(folder, 'node_modules', types), { recursive: true });
}

/** An environment of Python in which pip installs the words, and nothing else. Returns its Python. */
export async function environmentWith(
  place: Place,
  program: string,
  words: readonly string[],
): Promise<string> {
  const tools = await buildTools();
  await place.output(program, ['-m', 'venv', '--without-pip', 'environment']);
  const own = join(place.folder, 'environment/bin/python');
  const install = ['-m', 'pip', `--python=${own}`, 'install', '--quiet', '--no-index', '--no-deps'];
  await place.output(tools, [...install, ...words]);
  return own;
}
