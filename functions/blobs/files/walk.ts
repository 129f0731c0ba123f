import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orIfAbsent } from './disk.ts';

const folderName = /^[a-z0-9_-]{1,80}$/;
const objectName = /^[a-z0-9_-]{1,80}\.[a-z0-9]{1,8}$/;

/**
 * The keys with a prefix that follow `after`, in order; memory holds the names of one folder at a time. Skips files of
 * other programs.
 */
export async function* keysUnder(root: string, prefix: string, after: string): AsyncGenerator<string> {
  const found = await orIfAbsent(readdir(join(root, prefix), { withFileTypes: true }), []);
  const keys = found.flatMap((entry) => {
    if (entry.isDirectory()) return folderName.test(entry.name) ? [`${prefix}${entry.name}/`] : [];
    return entry.isFile() && objectName.test(entry.name) ? [`${prefix}${entry.name}`] : [];
  });
  // With their slash, folders and objects sort as the whole keys do: `a-b/x.json` comes before `a/x.json`.
  for (const key of keys.sort()) {
    if (!key.endsWith('/')) {
      if (key > after) yield key;
    } else if (key > after || after.startsWith(key)) {
      yield* keysUnder(root, key, after);
    }
  }
}
