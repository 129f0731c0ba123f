import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const isSource = import.meta.url.endsWith('.ts');
const folder = new URL(isSource ? '../../sdk/typescript/src/' : './', import.meta.url);

/** The client that comes with the server. */
const copies: ReadonlyMap<string, string> = new Map([
  ['@svc-runtime/client', new URL(isSource ? 'index.ts' : 'client.js', folder).href],
  ['@svc-runtime/client/worker', new URL(isSource ? 'worker/index.ts' : 'client-worker.js', folder).href],
]);

type Resolve = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>;

/**
 * Resolves the client as the module of the user does, so that both have one copy of it and `instanceof` holds. A folder without an
 * installed client gets the copy of the server: a first handler needs no package. Calls `loaded` with each file of the user,
 * also with one that is missing.
 */
export function hookModules(path: string, loaded: (path: string) => void): void {
  const parentURL = pathToFileURL(path).href;
  const resolve: Resolve = (specifier, context, next) => {
    const copy = copies.get(specifier);
    if (copy === undefined) return resolved(specifier, context, next);
    const isOwn =
      context.parentURL?.startsWith(folder.href) === true || context.parentURL === import.meta.url;
    try {
      return next(specifier, isOwn ? { ...context, parentURL } : context);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
      return { url: copy, shortCircuit: true };
    }
  };
  const resolved: Resolve = (specifier, context, next) => {
    try {
      return next(specifier, context);
    } catch (error) {
      const { code, url } = error as NodeJS.ErrnoException & { readonly url?: string };
      if (code === 'ERR_MODULE_NOT_FOUND' && url !== undefined && isOfUser(url)) loaded(fileURLToPath(url));
      throw error;
    }
  };
  registerHooks({
    resolve,
    load(url, context, next) {
      if (isOfUser(url)) loaded(fileURLToPath(url));
      return next(url, context);
    },
  });
}

function isOfUser(url: string): boolean {
  return (
    url.startsWith('file:') &&
    !url.startsWith(folder.href) &&
    !fileURLToPath(url).includes(`${sep}node_modules${sep}`)
  );
}

type Client = typeof import('../../sdk/typescript/src/index.ts');
type Kit = typeof import('../../sdk/typescript/src/worker/index.ts');

/** The client and its worker kit, as the module of the user gets them. Call it after `hookModules`. */
export async function loadClient(): Promise<Pick<Client, 'SvcClient'> & Pick<Kit, 'createWorker'>> {
  const [client, kit] = await Promise.all([...copies.keys()].map((name) => import(name) as Promise<unknown>));
  return { ...(client as Client), ...(kit as Kit) };
}
