import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Loads a package of the folder, which the lock file of the project does not name. */
export async function loadPeer<Library>(folder: string, name: string): Promise<Library> {
  const from = createRequire(join(folder, 'package.json'));
  return (await import(pathToFileURL(from.resolve(name)).href)) as Library;
}
