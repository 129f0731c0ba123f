import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFirestoreEmulator } from '../../emulator/firestore.ts';
import { startServer } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';
import { commitBody, TENANT } from './workload.ts';

const STARTS = 7;

/**
 * From the start of the process to the first answered request: health, and a first commit, which opens the store.
 * Embedded on SQLite, and the same server on the Firestore emulator.
 */
export async function benchColdStart(_options: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-cold-'));
  try {
    const embedded = await starts((n) => ({ SVC_DATA_DIR: join(folder, String(n)) }));
    const firestore = await firestoreStarts();
    return {
      bench: 'cold-start',
      measures:
        'milliseconds from process start to the first answer, TypeScript sources run by Node, medians',
      starts: STARTS,
      embedded,
      firestore,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function firestoreStarts(): Promise<object> {
  const emulator = await startFirestoreEmulator({}).catch((error: unknown) => ({ missing: String(error) }));
  if ('missing' in emulator) return { skipped: emulator.missing };
  try {
    return await starts((n) => ({
      SVC_CANONICAL_STORE_PROVIDER: 'firestore',
      FIRESTORE_EMULATOR_HOST: emulator.host,
      GOOGLE_CLOUD_PROJECT: `bench-${process.pid}-${n}`,
      METADATA_SERVER_DETECTION: 'none',
    }));
  } finally {
    await emulator.stop();
  }
}

async function starts(env: (n: number) => Record<string, string>) {
  const health: number[] = [];
  const commit: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    health.push(await firstAnswer(env(2 * n), (address) => fetch(`${address}/health`)));
    commit.push(await firstAnswer(env(2 * n + 1), firstCommit));
  }
  return { healthMs: median(health), commitMs: median(commit) };
}

function firstCommit(address: string): Promise<Response> {
  return fetch(`${address}/canonical/tenants/${TENANT}/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(commitBody()),
  });
}

async function firstAnswer(
  env: Record<string, string>,
  call: (address: string) => Promise<Response>,
): Promise<number> {
  const startedAt = performance.now();
  const server = await startServer(env);
  try {
    const response = await call(server.address);
    const body = await response.text();
    if (!response.ok) throw new Error(`the first request was answered ${response.status}: ${body}`);
    return performance.now() - startedAt;
  } finally {
    await server.stop();
  }
}

function median(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);
}
