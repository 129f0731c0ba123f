import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Beside Node: what a checkout of the project and any Unix have. Tests use `fish` and `zsh` only where they are installed. */
const programs = 'node npm npx git sh bash fish zsh cat env ls mkfifo ps rm sed sleep tar uname'.split(' ');

/** Makes a folder with these programs alone, and returns it as a PATH. */
export function plainPath(path: string): string {
  const folder = resolve(import.meta.dirname, '../../dist/plain-path');
  mkdirSync(folder, { recursive: true });
  const folders = [dirname(process.execPath), ...path.split(':')].filter((each) => each !== folder);
  for (const name of programs) {
    const found = folders.map((each) => join(each, name)).find(existsSync);
    const link = join(folder, name);
    // Another run of the tests may use the folder at this moment, so that a link that works stays.
    if (found === undefined || existsSync(link)) continue;
    rmSync(link, { force: true });
    try {
      symlinkSync(found, link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return folder;
}
