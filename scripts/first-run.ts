/**
 * Measures the first minutes of a new user: from an empty folder to the result of a first run, with packages as files and
 * the cache of npm as it is.
 *
 *     node scripts/first-run.ts [--from <folder of packages>]
 *
 * Without `--from` it makes the packages of this checkout first, which is not counted.
 */
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { root } from './build/project.ts';
import { buildServer } from './build/server.ts';

const run = promisify(execFile);
/** Without the settings of npm for this project, which a script of npm passes on: a new user has none. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
const { values } = parseArgs({ options: { from: { type: 'string' } } });
const folder = mkdtempSync(join(tmpdir(), 'svc-first-run-'));

try {
  const packages = values.from ?? (await packagesIn(join(folder, 'packages')));
  const app = join(folder, 'app');
  const begun = performance.now();
  const steps: [string, number][] = [];
  const step = (name: string) => void steps.push([name, performance.now() - begun]);
  await run(process.execPath, [join(root, 'create-svc-app/main.js'), app, '--from', packages]);
  step('the starter is made');
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: app, env });
  step('npm install is done');
  await firstRun(app, step);
  for (const [name, ms] of steps) process.stdout.write(`${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function firstRun(app: string, step: (name: string) => void): Promise<void> {
  const child = spawn('npm', ['run', '--silent', 'dev', '--', '--port', '0'], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /^ {2}api +(\S+)/.exec(line)?.[1];
      if (address === undefined) continue;
      step('the service and the handlers are ready');
      const answer = await fetch(`${address}/execution/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ handlerId: 'hello', payload: { name: 'Ada' }, waitSeconds: 20 }),
      });
      const { status } = (await answer.json()) as { readonly status?: string };
      step(`the first run has ${status ?? answer.status}`);
      return;
    }
    throw new Error('the service did not start');
  } finally {
    // The whole group: npm passes no signal on where it has no terminal.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  }
}

/** The server, and the client in the form in which it is published. */
async function packagesIn(parent: string): Promise<string> {
  await buildServer(parent);
  const client = join(folder, 'client');
  mkdirSync(client);
  const sdk = join(root, 'sdk/typescript');
  for (const file of ['package.json', 'README.md', 'api.md', 'LICENSE'])
    cpSync(join(sdk, file), join(client, file));
  await run(join(root, 'node_modules/.bin/tsc'), ['-p', sdk, '--outDir', join(client, 'dist')]);
  await run('npm', ['pack', '--ignore-scripts', '--offline', '--pack-destination', parent], { cwd: client });
  return parent;
}
