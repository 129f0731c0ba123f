import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * The programs of `tools/`: those that only CI, releases and single tests need. They have a lock file of their own and are no part of
 * the installation of the project, which is a third smaller without them. `npm run tools` installs them, without their scripts.
 */

const folder = resolve(import.meta.dirname, '../tools');
const LOCK = 'package-lock.json';
const STAMP = 'node_modules/.installed-lock';

/**
 * Whether the tools in the folder are those of its lock file: after a change of it the older ones stay until they are installed anew.
 * @testonly
 */
export function areInstalled(place: string): boolean {
  const lock = textOf(join(place, LOCK));
  return lock !== null && textOf(join(place, STAMP)) === lock;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The path of a file in the installed tools. */
export function toolPath(path: string): string {
  return join(folder, 'node_modules', path);
}

/**
 * Why a test leaves out what needs the tools; `undefined` where they are installed. A run that must be complete finds no reason, and
 * fails without them.
 */
export const toolsMissing: string | undefined =
  areInstalled(folder) || process.env['CI'] !== undefined
    ? undefined
    : '(skipped: the tools of the lock file are not installed: npm run tools)';

/** Throws a line that names the remedy where the tools are not those of the lock file. */
export function requireTools(): void {
  if (!areInstalled(folder))
    throw new Error('This needs the programs of tools/ by their lock file: npm run tools');
}

/**
 * Installs the tools of the folder by its lock file, which stays as it is.
 * @testonly
 */
export function install(place: string): number {
  if (areInstalled(place)) {
    console.log('the tools are installed');
    return 0;
  }
  // Not `npm ci`: it refuses a lock file without an optional package of another platform that the registry did not have.
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', words, { cwd: place, stdio: 'inherit' });
  if (status === 0) {
    // The folder is missing where the lock file names no package.
    mkdirSync(join(place, 'node_modules'), { recursive: true });
    copyFileSync(join(place, LOCK), join(place, STAMP));
  }
  return status ?? 1;
}

if (import.meta.main) process.exitCode = install(folder);
