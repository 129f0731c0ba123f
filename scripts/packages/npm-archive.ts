import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../build/project.ts';
import { withAbsoluteLinks } from './readme.ts';

const run = promisify(execFile);

/** Packs a folder. npm gives each file the same date and owner, so that the same files make the same bytes. */
export async function packFolder(folder: string, parent: string): Promise<string> {
  const words = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', parent];
  const { stdout } = await run('npm', words, { cwd: folder });
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error(`npm pack made nothing of ${folder}`);
  return join(parent, packed.filename);
}

/** Copies a page of the project to the root of a package, with links that work there. */
export async function copyPage(path: string, directory: string, folder: string): Promise<void> {
  const text = await readFile(join(root, path), 'utf8');
  await writeFile(join(folder, basename(path)), withAbsoluteLinks(text, directory));
}

/** Copies the files that every package carries beside its README. */
export async function copyCommonFiles(folder: string): Promise<void> {
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await copyPage('CHANGELOG.md', '.', folder);
}

export async function writeManifest(folder: string, manifest: object): Promise<void> {
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Runs the compiler of the project. Throws its messages. */
export async function compile(words: readonly string[]): Promise<void> {
  const types = ['--typeRoots', join(root, 'node_modules/@types')];
  try {
    await run(join(root, 'node_modules/.bin/tsc'), [...words, ...types], { cwd: root });
  } catch (error) {
    throw new Error(`tsc ${words.join(' ')}\n${(error as { stdout: string }).stdout}`, { cause: error });
  }
}
