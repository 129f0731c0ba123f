import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startServer } from '../support/server-process.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { PLUGIN, requireEnd } from './execution-start.ts';
import { JsonClient } from './json-client.ts';
import { medianNumber, round } from './load.ts';

const HANDLER = 'external';
const LEASE_SECONDS = 2;
const RUNS = 20;

/** The time without progress of runs after their worker, or the process of the service, was killed. */
export async function benchExecutionRecovery({ rounds }: BenchOptions): Promise<object> {
  const worker: number[] = [];
  const restart: { readonly readyMs: number; readonly endedMs: number }[] = [];
  for (let n = 0; n < rounds; n++) {
    worker.push(await withFolder(killedWorker));
    restart.push(await withFolder(killedService));
  }
  const median = (values: readonly number[]) => round(medianNumber(values));
  return {
    bench: 'execution-recovery',
    measures: {
      workerMs: `a worker with a lease of ${LEASE_SECONDS} s is killed (SIGKILL): milliseconds from the end of its lease until a worker that waits holds the run`,
      readyMs: `the service is killed (SIGKILL) with ${RUNS} runs under way and started again: milliseconds from the start of the process until it listens`,
      endedMs: 'and until all of these runs were executed again and have ended',
    },
    results: {
      workerMs: median(worker),
      readyMs: median(restart.map(({ readyMs }) => readyMs)),
      endedMs: median(restart.map(({ endedMs }) => endedMs)),
    },
  };
}

async function withFolder<T>(measure: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-recovery-'));
  try {
    return await measure(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function killedWorker(folder: string): Promise<number> {
  const external = `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`;
  const server = await startServer({ SVC_DATA_DIR: folder }, [UNCHECKED, external]);
  const client = new JsonClient(server.address);
  try {
    await client.post('/execution/runs', { handlerId: HANDLER, payload: 1 });
    const expiresAt = await leaseAndDie(server.address);
    const body = { workerId: 'other', handlerIds: [HANDLER], waitSeconds: 15 };
    const { run } = await client.postJson<{ run: { attempt: number } }>('/execution/workers/leases', body);
    if (run.attempt !== 2) throw new Error(`attempt ${run.attempt} is not the one after the killed one`);
    return Date.now() - expiresAt;
  } finally {
    client.close();
    await server.stop();
  }
}

/** When the lease of a worker ends that was killed while it held it. */
async function leaseAndDie(address: string): Promise<number> {
  const script = join(import.meta.dirname, 'execution-worker.ts');
  const child = spawn(process.execPath, [script, address, HANDLER, String(LEASE_SECONDS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return Date.parse(line);
}

async function killedService(folder: string) {
  const env = { SVC_DATA_DIR: folder };
  const before = await startServer(env, [UNCHECKED, PLUGIN]);
  const first = new JsonClient(before.address);
  const ids: string[] = [];
  for (let n = 0; n < RUNS; n++) {
    const body = { handlerId: 'hangs-once', payload: n };
    const run = await first.postJson<{ id: string; status: string }>('/execution/runs', body);
    if (run.status !== 'running') throw new Error(`the run is ${run.status}`);
    ids.push(run.id);
  }
  await before.kill();
  first.close();
  const startedAt = performance.now();
  const after = await startServer(env, [UNCHECKED, PLUGIN]);
  const readyMs = performance.now() - startedAt;
  const client = new JsonClient(after.address);
  try {
    await Promise.all(ids.map((id) => requireEnd(client, id)));
    return { readyMs, endedMs: performance.now() - startedAt };
  } finally {
    client.close();
    await after.stop();
  }
}
