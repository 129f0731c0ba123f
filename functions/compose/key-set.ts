import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Settings, table } from '../config/table.ts';
import { readKeyDocument } from '../identity/oidc/key-document.ts';
import { createKeySet, type KeySet } from '../identity/oidc/key-set.ts';
import type { World } from '../kernel/world.ts';
import { CompositionFault } from './module.ts';

/** The keys that identity tokens are verified with: those that the issuer publishes, or those of a file. */
export async function keySetOf({ oidc }: Settings, world: World): Promise<KeySet> {
  if (oidc.keySetFile === null) return createKeySet({ url: oidc.keySetUrl, ...world });
  const path = resolve(oidc.keySetFile);
  await requireKeys(path);
  return createKeySet({ ...world, url: `file:${path}`, http: () => answerOf(path) });
}

/** A file that is missing or damaged at start is an operator's error; a later one serves the last good keys for a day. */
async function requireKeys(path: string): Promise<void> {
  const { key } = table.oidc.keySetFile;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown reason'})`;
    throw new CompositionFault(`The file that ${key} names ${reason}.`, { cause: error });
  }
  try {
    readKeyDocument(text);
  } catch (error) {
    throw new CompositionFault(`The file that ${key} names holds no key set.`, { cause: error });
  }
}

/** The key set stays fresh for as short a time as it may, so that a removed key is refused within a minute. */
async function answerOf(path: string): Promise<Response> {
  return new Response(await readFile(path, 'utf8'), { headers: { 'cache-control': 'no-cache' } });
}
