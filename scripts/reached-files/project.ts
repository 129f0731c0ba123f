import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ceilings, handlerFiles, reachedFrom } from './count.ts';

const ceilingsPath = 'scripts/reached-files/ceilings.json';

/** The files that each operation of the service reaches. `planted` texts stand for those on disk. */
export function reachedFiles(
  root: string,
  planted: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, string | undefined>(planted);
  const textOf = (path: string) => {
    if (!texts.has(path)) {
      const full = join(root, path);
      texts.set(path, existsSync(full) ? readFileSync(full, 'utf8') : undefined);
    }
    return texts.get(path);
  };
  const groups = globSync('functions/groups/*/handlers.ts', { cwd: root });
  return new Map(
    groups
      .map((path) => path.replaceAll('\\', '/'))
      .flatMap((path) => [...handlerFiles(path, textOf(path) ?? '')])
      .map(([operation, files]) => [operation, reachedFrom(files, textOf)]),
  );
}

export function countsOf(reached: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  return new Map([...reached].map(([operation, files]) => [operation, files.length]));
}

export function readCeilings(root: string): Ceilings {
  return JSON.parse(readFileSync(join(root, ceilingsPath), 'utf8')) as Ceilings;
}

export function writeCeilings(root: string, ceilings: Ceilings): void {
  writeFileSync(join(root, ceilingsPath), `${JSON.stringify(ceilings, null, 2)}\n`);
}
