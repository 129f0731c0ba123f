import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { frozenServerVersion, readFrozenServer } from '../../scripts/release-server.ts';
import { type ServerProcess, serverProcess } from '../support/server-process.ts';

export const releasedVersion = frozenServerVersion('.');

/** Below the installed packages, which the frozen server uses. */
const CACHE = 'node_modules/.cache/svc-servers';

/** The folder of the last release's servers. Runs of this machine share it, so it appears whole or not at all. */
export function releasedServer(): string {
  const modules = readFrozenServer('.');
  const hash = createHash('sha256').update(JSON.stringify(modules)).digest('hex').slice(0, 16);
  const folder = join(process.cwd(), CACHE, `${releasedVersion}-${hash}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const written = mkdtempSync(`${folder}-`);
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(written, name), text);
  try {
    renameSync(written, folder);
  } catch (error) {
    rmSync(written, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Starts the embedded server of the last release, as `startServer` starts that of this one. */
export function startReleasedServer(
  env: Readonly<Record<string, string>>,
  settings: readonly string[] = [],
): Promise<ServerProcess> {
  const raised = [
    'Server:CanonicalRateLimit:PermitLimit=100000',
    'Server:CanonicalRateLimit:WindowSeconds=1',
  ];
  const flags = [...raised, ...settings].map((setting) => `--${setting}`);
  return serverProcess(
    spawn(process.execPath, [join(releasedServer(), 'server.mjs'), ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', ...env },
    }),
  );
}
