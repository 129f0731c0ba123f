import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, startFirestoreEmulator } from '../../emulator/firestore.ts';
import { buildServer } from '../../scripts/build/server.ts';
import { type BuildReport, buildFunctions } from '../../scripts/build.ts';
import { installLocked } from '../support/installed-functions.ts';
import { addressOf } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';
import { processorMs } from './processor.ts';
import { commitBody, TENANT } from './workload.ts';

const STARTS = 9;
const FRAMEWORK = 'node_modules/@google-cloud/functions-framework/build/src/main.js';

/** A program, and the request that its start ends with. */
interface Start {
  /** The files that it is made of. */
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env?: (n: number) => Readonly<Record<string, string>>;
  readonly call: (address: string) => Promise<Response>;
}

/**
 * From the start of a process to its first answered request, beside the bare limits: a `node:http` server that says hello,
 * and functions-framework with an empty function. A round starts each program once, so that other load meets all.
 */
export async function benchColdStart(_options: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-cold-'));
  const emulator = await startFirestoreEmulator({}).catch((error: unknown) => ({ missing: String(error) }));
  try {
    const built = await buildFunctions(join(folder, 'functions'));
    await install(built.outdir);
    const server = await buildServer(join(folder, 'server'));
    const starts = {
      ...(await bareStarts(built.outdir, folder)),
      ...embeddedStarts(server.folder, folder),
      ...('missing' in emulator ? {} : firestoreStarts(server.folder, built.outdir, emulator.host)),
    };
    const costs = await measure(starts);
    return {
      bench: 'cold-start',
      measures:
        'milliseconds from process start to the first answered request, medians; ratios of the medians to the bare limit: ' +
        'bareHttp for embedded, bareFramework for functions',
      starts: STARTS,
      ...('missing' in emulator ? { skipped: emulator.missing } : {}),
      aims: { embeddedBundleCommit: 250, functionCommitFirestore: 600 },
      ...figures(costs),
      bytes: {
        ...bytesOf(built),
        ...Object.fromEntries(server.sizes.map(({ name, bytes }) => [name, bytes])),
      },
    };
  } finally {
    if (!('missing' in emulator)) await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Starts = Readonly<Record<string, Start>>;

async function install(outdir: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(outdir, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, object>>;
  };
  installLocked(outdir, lock.packages);
}

async function bareStarts(outdir: string, folder: string): Promise<Starts> {
  const hello =
    `require('node:http').createServer((q, s) => s.end('hello')).listen(process.env.PORT, '127.0.0.1', function () {` +
    ` console.log('http://127.0.0.1:' + this.address().port) })`;
  const empty = join(folder, 'empty');
  await mkdir(empty);
  await writeFile(join(empty, 'index.mjs'), 'export const empty = (_, answer) => answer.send("hello");');
  const source = ['--source', join(empty, 'index.mjs'), '--target', 'empty'];
  return {
    bareHttp: { command: ['-e', hello], call: (address) => fetch(address) },
    bareFramework: { command: [FRAMEWORK, ...source], cwd: outdir, call: (address) => fetch(address) },
  };
}

function embeddedStarts(server: string, folder: string): Starts {
  const bundled = [join(server, 'bin/svc-server')];
  const env = (name: string) => (n: number) => ({ SVC_DATA_DIR: join(folder, `${name}-${n}`) });
  return {
    embeddedSourceCommit: { command: ['functions/embedded.ts'], env: env('source'), call: firstCommit },
    embeddedBundleHealth: { command: bundled, env: env('health'), call: health },
    embeddedBundleCommit: { command: bundled, env: env('commit'), call: firstCommit },
    embeddedBundleCommitWithoutCache: {
      command: bundled,
      env: (n) => ({ ...env('bare')(n), NODE_DISABLE_COMPILE_CACHE: '1' }),
      call: firstCommit,
    },
  };
}

function firestoreStarts(server: string, outdir: string, host: string): Starts {
  const env = (project: string) => (n: number) => ({
    SVC_CANONICAL_STORE_PROVIDER: 'firestore',
    FIRESTORE_EMULATOR_HOST: host,
    GOOGLE_CLOUD_PROJECT: `demo-${project}-${process.pid}-${n}`,
  });
  const bundled = { command: [join(server, 'bin/svc-server')] };
  const served = (target: string) => ({ command: [FRAMEWORK, '--target', target], cwd: outdir });
  const firstRuns = (address: string) => fetch(`${address}/execution/runs`);
  return {
    embeddedBundleCommitFirestore: { ...bundled, env: env('embedded'), call: firstCommit },
    functionHealth: { ...served('server'), env: env('server'), call: health },
    functionCommitFirestore: { ...served('canonical'), env: env('canonical'), call: firstCommit },
    functionCommitFirestoreWithCache: {
      ...served('canonical'),
      env: (n) => ({ ...env('cached')(n), NODE_COMPILE_CACHE: join(outdir, 'compile-cache') }),
      call: firstCommit,
    },
    functionRunsFirestore: { ...served('execution'), env: env('execution'), call: firstRuns },
  };
}

function health(address: string): Promise<Response> {
  return fetch(`${address}/health`);
}

function firstCommit(address: string): Promise<Response> {
  return fetch(`${address}/canonical/tenants/${TENANT}/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(commitBody()),
  });
}

interface Cost {
  readonly milliseconds: number;
  /** Processor time, which other load on the machine changes little. */
  readonly processorMs: number;
}

async function measure(starts: Starts): Promise<ReadonlyMap<string, readonly Cost[]>> {
  const costs = new Map<string, Cost[]>(Object.keys(starts).map((name) => [name, []]));
  // Round 0 fills the disk cache of the machine and the compile caches.
  for (let n = 0; n <= STARTS; n++) {
    for (const [name, start] of Object.entries(starts)) {
      const cost = await firstAnswer(start, n);
      if (n > 0) costs.get(name)?.push(cost);
    }
  }
  return costs;
}

async function firstAnswer({ command, cwd, env, call }: Start, n: number): Promise<Cost> {
  const [port = 0] = await freePorts(1);
  const { PATH, HOME } = process.env;
  const own = {
    PATH,
    HOME,
    SVC_ENVIRONMENT: 'Development',
    METADATA_SERVER_DETECTION: 'none',
    PORT: String(port),
  };
  const startedAt = performance.now();
  const child = spawn(process.execPath, command, {
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'ignore'],
    // Not NODE_ENV=production: the framework would not say when it listens.
    env: { ...own, ...env?.(n) },
  });
  try {
    await addressOf(child);
    const response = await call(`http://127.0.0.1:${port}`);
    const body = await response.text();
    if (!response.ok) throw new Error(`the first request was answered ${response.status}: ${body}`);
    const milliseconds = performance.now() - startedAt;
    return { milliseconds, processorMs: processorMs(child.pid) ?? 0 };
  } finally {
    await end(child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await exit;
}

function figures(costs: ReadonlyMap<string, readonly Cost[]>): object {
  const milliseconds = medians(costs, (cost) => cost.milliseconds);
  const processor = medians(costs, (cost) => cost.processorMs);
  return {
    milliseconds,
    ofBare: ofBare(milliseconds),
    processorMs: processor,
    processorOfBare: ofBare(processor),
  };
}

function medians(
  costs: ReadonlyMap<string, readonly Cost[]>,
  of: (cost: Cost) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries([...costs].map(([name, each]) => [name, median(each.map(of))]));
}

function ofBare(values: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const ratios = Object.entries(values).map(([name, value]) => {
    const bare = name.startsWith('function') ? values['bareFramework'] : values['bareHttp'];
    return [name, round(value / (bare ?? value))] as const;
  });
  return Object.fromEntries(ratios);
}

function bytesOf({ starts, sizes }: BuildReport): Readonly<Record<string, number>> {
  const start = sizes.filter(({ name }) => name === 'start');
  return Object.fromEntries([...start, ...starts].map(({ name, bytes }) => [name, bytes]));
}

function median(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);
}
