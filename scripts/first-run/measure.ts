import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { Language } from '../../create-svc-app/starter.js';
import { root } from '../build/project.ts';
import { treeCpuSeconds } from './tree-cpu.ts';

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
  /** In order. */
  readonly steps: readonly Step[];
}

export interface Step {
  readonly name: string;
  /** Since the beginning. */
  readonly seconds: number;
  /** Processor time of everything that was started since the beginning; `null` where the system does not count it. */
  readonly cpuSeconds: number | null;
}

export function stepLine({ name, seconds, cpuSeconds }: Step): string {
  const cpu = cpuSeconds === null ? '' : `, ${cpuSeconds.toFixed(1)} s of processor time`;
  return `${seconds.toFixed(1).padStart(6)} s  ${name}${cpu}`;
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
export async function firstRun(packages: string, folder: string, language: Language): Promise<FirstRun> {
  const from = resolve(packages);
  const archive = readdirSync(from).find((name) => /^create-svc-app-\d.*\.tgz$/.test(name));
  if (archive === undefined) throw new Error(`${from} holds no package create-svc-app`);
  const began = performance.now();
  const cpuBefore = treeCpuSeconds();
  const steps: Step[] = [];
  const note = (name: string) => {
    const cpu = treeCpuSeconds();
    const cpuSeconds = cpu === null || cpuBefore === null ? null : cpu - cpuBefore;
    steps.push({ name, seconds: (performance.now() - began) / 1_000, cpuSeconds });
  };
  const words = ['app', '--language', language, '--from', from];
  await run('npx', ['--yes', '-p', join(from, archive), 'create-svc-app', ...words], { cwd: folder, env });
  note('the files of the starter');
  const { status, result } = await firstRunIn[language](join(folder, 'app'), note);
  return { status, result, steps };
}

type Note = (name: string) => void;
type Ended = Pick<FirstRun, 'status' | 'result'>;

const firstRunIn: Readonly<Record<Language, (app: string, note: Note) => Promise<Ended>>> = {
  async typescript(app, note) {
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: app, env });
    note('the end of npm install');
    await using service = await serve('npm run --silent dev -- --port 0', app);
    note('the service, with the handlers');
    return await startedRun(service.address, note);
  },
  async python(app, note) {
    await run('python3', ['-m', 'venv', '.venv'], { cwd: app, env });
    await run('.venv/bin/pip', ['install', '--quiet', '-r', 'requirements.txt'], { cwd: app, env });
    note('the end of pip install');
    const [, command] = /^ {4}(npx .* dev)$/m.exec(readFileSync(join(app, 'README.md'), 'utf8')) ?? [];
    await using service = await serve(`${command} --port 0`, app);
    note('the service');
    const settings = { ...env, SVC_BASE_URL: service.address };
    const worker = new Group('.venv/bin/python worker.py', app, settings);
    try {
      return await startedRun(service.address, note);
    } finally {
      await worker[Symbol.asyncDispose]();
    }
  },
};

/** A command with its children. npm and npx pass no signal on where they have no terminal. */
class Group implements AsyncDisposable {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  readonly #ended: Promise<unknown>;

  constructor(command: string, cwd: string, variables: NodeJS.ProcessEnv = env) {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    this.child = spawn('sh', ['-c', command], { cwd, env: variables, stdio, detached: true });
    this.#ended = once(this.child, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdout.resume();
    if (this.child.pid !== undefined && this.child.exitCode === null)
      process.kill(-this.child.pid, 'SIGTERM');
    await this.#ended;
  }
}

async function serve(command: string, app: string) {
  const group = new Group(command, app);
  for await (const line of createInterface({ input: group.child.stdout })) {
    const address = /^ {2}api +(\S+)/.exec(line)?.[1];
    if (address === undefined) continue;
    group.child.stdout.resume();
    return { address, [Symbol.asyncDispose]: () => group[Symbol.asyncDispose]() };
  }
  throw new Error(`${command} did not start a service`);
}

/** Starts the run again while no worker has named its handler. */
async function startedRun(address: string, note: Note): Promise<Ended> {
  for (;;) {
    const answer = await fetch(`${address}/execution/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ handlerId: 'hello', payload: { name: 'Ada' }, waitSeconds: 20 }),
    });
    const started = (await answer.json()) as Ended & { readonly code?: string };
    if (started.code === 'handler_missing') continue;
    // The processes of the application still run, and count.
    note('the result of the first run');
    return started;
  }
}
