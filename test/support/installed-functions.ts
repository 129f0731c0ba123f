import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Locked } from '../../scripts/build/installed.ts';

const root = resolve(import.meta.dirname, '../..');

/**
 * Installs beside a bundle what its lock file names, as `npm ci` would with a registry: copies, not links, so that Node finds
 * nothing else of this project.
 */
export function installLocked(folder: string, packages: Locked): void {
  for (const path of Object.keys(packages).filter((each) => each !== '')) {
    cpSync(join(root, path), join(folder, path), {
      recursive: true,
      filter: (from) => !from.slice(root.length + path.length).includes('/node_modules'),
    });
  }
}
