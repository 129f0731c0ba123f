import { posix } from 'node:path';
import { importsOf } from '../../test/structure.ts';

/** The composition loads each room on demand. Followed, these imports make every test of a service depend on every room. */
const isLoadedOnDemand = (path: string, dynamic: boolean) => dynamic && path.startsWith('functions/compose/');

/**
 * The tests that depend on a changed file, the nearest first. A test of a route group reaches its group through the composition, so
 * it also depends on what lies in its own folder.
 */
export function dependantsOf(
  changed: readonly string[],
  files: readonly string[],
  textOf: (path: string) => string,
): string[] {
  const importers = new Map<string, string[]>();
  const add = (target: string, path: string) => {
    const known = importers.get(target);
    if (known === undefined) importers.set(target, [path]);
    else known.push(path);
  };
  for (const path of files) {
    for (const { specifier, dynamic } of importsOf(textOf(path))) {
      if (specifier.startsWith('.') && !isLoadedOnDemand(path, dynamic))
        add(posix.join(posix.dirname(path), specifier), path);
    }
    if (isTest(path) && path.startsWith('functions/groups/')) add(posix.dirname(path), path);
  }
  // A set is walked in the order of insertion, also while it grows: by distance.
  const reached = new Set(changed);
  for (const path of reached) {
    for (const importer of importers.get(path) ?? []) reached.add(importer);
    if (!isTest(path)) reached.add(posix.dirname(path));
  }
  const known = new Set(files);
  return [...reached].filter((path) => isTest(path) && known.has(path));
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}
