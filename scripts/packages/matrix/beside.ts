import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../build/project.ts';

const run = promisify(execFile);
const cache = join(root, 'node_modules/.cache/svc-matrix');

/**
 * The folder of a package that the project does not depend on, in one version and without scripts. It is installed once and kept; two
 * runs may install it at once.
 */
export async function installedBeside(name: string, version: string): Promise<string> {
  const place = join(cache, `${name.replace('/', '-')}-${version}`);
  const folder = join(place, 'node_modules', name);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(join(cache, 'installing-'));
  try {
    await writeFile(join(aside, 'package.json'), '{"private":true}\n');
    const flags = [
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      '--ignore-scripts',
      '--loglevel=error',
    ];
    await run('npm', ['install', ...flags, `${name}@${version}`], { cwd: aside });
    await rename(aside, place).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return folder;
}
