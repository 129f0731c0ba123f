/**
 * Freezes the servers of this version: the embedded server and the functions as one compressed file in
 * `contracts/servers/`. Tests run them beside the release in hand, over one store. Only the newest release is kept.
 *
 *     node scripts/release-server.ts [--root <checkout of the release>]
 *
 * `npm run release` does so for the version in hand.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';
import { sha256 } from '../functions/kernel/canonical-json.ts';

export const SERVERS = 'contracts/servers';
const SUFFIX = '.json.br';
const HASHES = 'hashes.json';

/** Text of each module by its name; `server.mjs` starts the embedded server, `functions.mjs` holds the functions. */
export type FrozenServer = Readonly<Record<string, string>>;

/** Packages stay outside: the frozen server uses those that are installed. */
export async function bundleServer(root: string): Promise<FrozenServer> {
  const { outputFiles } = await build({
    absWorkingDir: resolve(root),
    entryPoints: { server: 'functions/embedded-server.ts', functions: 'functions/index.ts' },
    outdir: 'frozen',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'esm',
    splitting: true,
    minify: true,
    write: false,
    logLevel: 'warning',
  });
  const modules = outputFiles.map(({ path, text }) => [basename(path), text] as const);
  return Object.fromEntries(modules.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Writes the server of the checkout `from` below `root`, in place of those of earlier releases. */
export async function freezeServer(root: string, from: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as { version: string };
  const text = JSON.stringify(await bundleServer(from));
  const folder = join(root, SERVERS);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
  };
  writeFileSync(join(folder, `${version}${SUFFIX}`), brotliCompressSync(text, { params }));
  writeFileSync(join(folder, HASHES), `${JSON.stringify({ [version]: sha256(text) }, null, 2)}\n`);
  return version;
}

/** The version of the frozen server below `root`. */
export function frozenServerVersion(root: string): string {
  const names = readdirSync(join(root, SERVERS)).filter((name) => name.endsWith(SUFFIX));
  const [name, ...others] = names;
  if (name === undefined || others.length > 0) throw new Error(`${SERVERS} must hold one server`);
  return name.slice(0, -SUFFIX.length);
}

/** Throws unless the frozen server is the one that was released. */
export function readFrozenServer(root: string): FrozenServer {
  const version = frozenServerVersion(root);
  const bytes = readFileSync(join(root, SERVERS, `${version}${SUFFIX}`));
  const text = brotliDecompressSync(bytes).toString();
  const hashes = JSON.parse(readFileSync(join(root, SERVERS, HASHES), 'utf8')) as Record<string, string>;
  if (sha256(text) !== hashes[version])
    throw new Error(`the server of ${version} differs from the released one`);
  return JSON.parse(text) as FrozenServer;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { root: { type: 'string' } } });
  const version = await freezeServer('.', values.root ?? '.');
  console.log(`${SERVERS} holds the servers of ${version}`);
}
