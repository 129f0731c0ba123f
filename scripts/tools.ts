import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * The programs of `tools/`: those that only CI, releases and single tests need. They have a lock file of their own and are no part of
 * the installation of the project, which is a third smaller without them. `npm run tools` installs them, without their scripts.
 */

const folder = resolve(import.meta.dirname, '../tools');
const STAMP = join(folder, 'node_modules/.installed-lock');

/** The path of a file in the installed tools. */
export function toolPath(path: string): string {
  return join(folder, 'node_modules', path);
}

/**
 * Why a test leaves out what needs the tools; `undefined` where they are installed. A run that must be complete finds no reason, and
 * fails without them.
 */
export const toolsMissing: string | undefined =
  existsSync(STAMP) || process.env['CI'] !== undefined
    ? undefined
    : '(skipped: the tools are not installed: npm run tools)';

/** Throws a line that names the remedy where the tools are not installed. */
export function requireTools(): void {
  if (!existsSync(STAMP)) throw new Error('This needs the programs of tools/: npm run tools');
}

function install(): number {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock) {
    console.log('the tools are installed');
    return 0;
  }
  const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', words, { cwd: folder, stdio: 'inherit' });
  if (status === 0) writeFileSync(STAMP, lock);
  return status ?? 1;
}

if (import.meta.main) process.exitCode = install();
