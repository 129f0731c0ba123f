import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { root } from '../build/project.ts';

const run = promisify(execFile);

/** A new user has no settings of npm for this project, which a script of npm passes on, and has the Node of the project. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm_|path$)/i.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
};

export interface FirstRun {
  /** The status of the run. */
  readonly status: string;
  readonly result: unknown;
  /** Seconds since the beginning, in order. */
  readonly steps: readonly { readonly name: string; readonly seconds: number }[];
}

/** Brings what the application takes from the registry into the cache of npm. Throws where neither has it. */
export async function warmCache(): Promise<void> {
  const template = join(root, 'create-svc-app/templates/typescript/package.json.template');
  const { devDependencies } = JSON.parse(readFileSync(template, 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const foreign = Object.entries(devDependencies).filter(([, version]) => !version.startsWith('__'));
  await run('npm', ['cache', 'add', ...foreign.map((pair) => pair.join('@'))], { env });
}

/** Does what a new user types, in an empty folder and with packages as files. */
export async function firstRun(packages: string, folder: string): Promise<FirstRun> {
  const from = resolve(packages);
  const archive = readdirSync(from).find((name) => /^create-svc-app-\d.*\.tgz$/.test(name));
  if (archive === undefined) throw new Error(`${from} holds no package create-svc-app`);
  const began = performance.now();
  const steps: { readonly name: string; readonly seconds: number }[] = [];
  const note = (name: string) => void steps.push({ name, seconds: (performance.now() - began) / 1_000 });
  const create = ['--yes', '-p', join(from, archive), 'create-svc-app', 'app', '--from', from];
  await run('npx', create, { cwd: folder, env });
  note('the files of the starter');
  const app = join(folder, 'app');
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: app, env });
  note('the end of npm install');
  const { status, result } = await startedRun(app, () => note('the service, with the handlers'));
  note('the result of the first run');
  return { status, result, steps };
}

async function startedRun(app: string, onReady: () => void) {
  const child = spawn('npm', ['run', '--silent', 'dev', '--', '--port', '0'], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const ended = once(child, 'close');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /^ {2}api +(\S+)/.exec(line)?.[1];
      if (address === undefined) continue;
      onReady();
      child.stdout.resume();
      const answer = await fetch(`${address}/execution/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ handlerId: 'hello', payload: { name: 'Ada' }, waitSeconds: 20 }),
      });
      return (await answer.json()) as { readonly status: string; readonly result: unknown };
    }
    throw new Error('the service did not start');
  } finally {
    // The whole group: npm passes no signal on where it has no terminal.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}
