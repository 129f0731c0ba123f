import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, startFirestoreEmulator } from '../../emulator/firestore.ts';
import { buildFunctions } from '../../scripts/build.ts';
import { addressOf, startServer } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';
import { commitBody, TENANT } from './workload.ts';

const STARTS = 7;
const FRAMEWORK = resolve('node_modules/@google-cloud/functions-framework');

/**
 * From the start of the process to the first answered request: health, and a first commit, which opens the store.
 * Embedded on SQLite, the same server on the
 * Firestore emulator, and the deployable function on it.
 */
export async function benchColdStart(_options: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-cold-'));
  try {
    const embedded = await starts((n) => ({ SVC_DATA_DIR: join(folder, String(n)) }));
    const firestore = await firestoreStarts(folder);
    return {
      bench: 'cold-start',
      measures:
        'milliseconds from process start to the first answered request, medians; TypeScript sources run by Node, but for ' +
        'bundledFunction: the built artifact behind functions-framework',
      starts: STARTS,
      embedded,
      firestore,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The embedded server on Firestore, and the deployable function behind functions-framework, on one emulator. */
async function firestoreStarts(folder: string): Promise<object> {
  const emulator = await startFirestoreEmulator({}).catch((error: unknown) => ({ missing: String(error) }));
  if ('missing' in emulator) return { skipped: emulator.missing };
  const env = (n: number) => ({
    SVC_CANONICAL_STORE_PROVIDER: 'firestore',
    FIRESTORE_EMULATOR_HOST: emulator.host,
    GOOGLE_CLOUD_PROJECT: `bench-${process.pid}-${n}`,
    METADATA_SERVER_DETECTION: 'none',
  });
  try {
    const outdir = await deployable(join(folder, 'functions'));
    const server = await firstAnswers((n) => startFunction(outdir, 'server', env(1000 + n)), health);
    const canonical = await firstAnswers(
      (n) => startFunction(outdir, 'canonical', env(2000 + n)),
      firstCommit,
    );
    return { ...(await starts(env)), bundledFunction: { healthMs: server, commitMs: canonical } };
  } finally {
    await emulator.stop();
  }
}

async function starts(env: (n: number) => Record<string, string>) {
  return {
    healthMs: await firstAnswers((n) => startServer(env(2 * n)), health),
    commitMs: await firstAnswers((n) => startServer(env(2 * n + 1)), firstCommit),
  };
}

function health(address: string): Promise<Response> {
  return fetch(`${address}/health`);
}

/** The built artifacts, with functions-framework where an installation would put it. */
async function deployable(folder: string): Promise<string> {
  const { outdir } = await buildFunctions(folder);
  const scope = join(outdir, 'node_modules/@google-cloud');
  await mkdir(scope, { recursive: true });
  await symlink(FRAMEWORK, join(scope, 'functions-framework'));
  return outdir;
}

async function startFunction(outdir: string, target: string, env: Record<string, string>) {
  const port = await freePort();
  const child = spawn(process.execPath, [join(FRAMEWORK, 'build/src/main.js'), '--target', target], {
    cwd: outdir,
    stdio: ['ignore', 'pipe', 'ignore'],
    // Not NODE_ENV=production: the framework would not say when it listens.
    env: { ...process.env, SVC_ENVIRONMENT: 'Development', PORT: String(port), ...env },
  });
  // The framework's own line that it listens.
  await addressOf(child);
  return {
    address: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function firstCommit(address: string): Promise<Response> {
  return fetch(`${address}/canonical/tenants/${TENANT}/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(commitBody()),
  });
}

interface Started {
  readonly address: string;
  stop(): Promise<unknown>;
}

async function firstAnswers(
  start: (n: number) => Promise<Started>,
  call: (address: string) => Promise<Response>,
): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    const startedAt = performance.now();
    const server = await start(n);
    try {
      const response = await call(server.address);
      const body = await response.text();
      if (!response.ok) throw new Error(`the first request was answered ${response.status}: ${body}`);
      times.push(performance.now() - startedAt);
    } finally {
      await server.stop();
    }
  }
  return median(times);
}

function median(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);
}
