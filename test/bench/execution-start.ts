import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../support/server-process.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { JsonClient } from './json-client.ts';
import { medianNumber, round } from './load.ts';

const STARTS_A_ROUND = 3;
export const PLUGIN = 'ExecutionRuntime:Plugins:0=./test/bench/execution-plugin.ts';

/** From the start of the process on an empty folder to the first durable result, and what of that the bare start takes. */
export async function benchExecutionStart({ rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-start-'));
  const first: number[] = [];
  const bare: number[] = [];
  const results: number[] = [];
  try {
    for (let n = 0; n < rounds * STARTS_A_ROUND; n++) {
      bare.push(await started(join(folder, `bare-${n}`), [], health));
      first.push(await started(join(folder, `first-${n}`), [PLUGIN], health));
      results.push(await started(join(folder, `result-${n}`), [PLUGIN], firstResult));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const median = (values: readonly number[]) => round(medianNumber(values));
  return {
    bench: 'execution-start',
    measures: {
      bareMs: 'process start to the first answered health request, no handlers; medians',
      withPluginMs: 'the same with a plugin of handlers',
      firstResultMs: 'process start to the answered result of a run that was started over HTTP',
    },
    starts: rounds * STARTS_A_ROUND,
    results: { bareMs: median(bare), withPluginMs: median(first), firstResultMs: median(results) },
  };
}

async function started(
  folder: string,
  settings: readonly string[],
  call: (client: JsonClient) => Promise<void>,
): Promise<number> {
  const startedAt = performance.now();
  const server = await startServer({ SVC_DATA_DIR: folder }, [UNCHECKED, ...settings]);
  const client = new JsonClient(server.address);
  try {
    await call(client);
    return performance.now() - startedAt;
  } finally {
    client.close();
    await server.stop();
  }
}

async function health(client: JsonClient): Promise<void> {
  await client.send('GET', '/health');
}

async function firstResult(client: JsonClient): Promise<void> {
  const { id } = await client.postJson<{ id: string }>('/execution/runs', { handlerId: 'echo', payload: 1 });
  await requireEnd(client, id);
}

/** Waits for the end of the run. */
export async function requireEnd(client: JsonClient, id: string): Promise<void> {
  const { status } = await client.getJson<{ status: string }>(`/execution/runs/${id}?waitSeconds=20`);
  if (status !== 'succeeded') throw new Error(`the run is ${status}`);
}
