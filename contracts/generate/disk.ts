import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { FOLDERS } from './outputs.ts';

/**
 * The paths that differ from `outputs`: changed, missing, or in a generated folder without being generated. `folders` are
 * those, none where the outputs share theirs with other files.
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

/** Makes the files equal to `outputs` and removes what is no longer generated. Answers the paths that it touched. */
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
  // What Python keeps beside the modules that it runs is nobody's source.
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
