import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALL_MS = 300_000;

export interface Peer {
  readonly name: string;
  readonly version: string;
}

/** Installs packages beside the project, whose lock file does not name them. Returns why it could not. */
export async function installPeer(folder: string, ...peers: readonly Peer[]): Promise<string | null> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}\n');
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  try {
    const wanted = peers.map(({ name, version }) => `${name}@${version}`);
    await run('npm', ['install', ...flags, ...wanted], { cwd: folder, timeout: INSTALL_MS });
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** A package that was installed in the folder. */
export async function installed<T>(folder: string, name: string): Promise<T> {
  const path = createRequire(join(folder, 'package.json')).resolve(name);
  const loaded = (await import(pathToFileURL(path).href)) as { readonly default?: object };
  return { ...loaded.default, ...loaded } as T;
}

/** The lines of a failed process that say what failed. */
export function reasonOf(error: unknown): string {
  const { message, killed } = error as { readonly message: string; readonly killed?: boolean };
  if (killed === true) return 'it took too long';
  const lines = message.split('\n');
  return lines.find((line) => /^\w*Error: /.test(line)) ?? lines[0] ?? '';
}
