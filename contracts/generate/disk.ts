import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { FOLDERS } from './outputs.ts';

/** The work of one generator. */
export interface Generated {
  /** The text of each file by its path from the root. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders that hold these files and no others. */
  readonly folders?: readonly string[];
  /** Faults that remain after the files are written. */
  readonly faults?: readonly string[];
}

/**
 * The paths that differ from `outputs`: changed, missing, or present in one of `folders` without being generated. Name
 * no folder that also holds files of other origin.
 */
export function drift(
  root: string,
  outputs: ReadonlyMap<string, string>,
  folders: readonly string[] = FOLDERS,
): readonly string[] {
  const differing = [...outputs].filter(([path, text]) => {
    const file = join(root, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== text;
  });
  return [
    ...differing.map(([path]) => path),
    ...folders.flatMap((folder) => strays(root, outputs, folder)),
  ].sort();
}

/** Makes the files equal to `outputs` and removes files that are no longer generated. Returns the changed paths. */
export function write(
  root: string,
  outputs: ReadonlyMap<string, string>,
  folders: readonly string[] = FOLDERS,
): readonly string[] {
  const touched = drift(root, outputs, folders);
  for (const path of touched) {
    const text = outputs.get(path);
    if (text === undefined) rmSync(join(root, path));
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }
  return touched;
}

function strays(root: string, outputs: ReadonlyMap<string, string>, generated: string): readonly string[] {
  const folder = join(root, generated);
  if (!existsSync(folder)) return [];
  // Python writes its cache beside the modules that it runs; the cache is not source.
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('__pycache__'))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .split(sep)
        .join('/'),
    )
    .filter((path) => !outputs.has(path));
}
