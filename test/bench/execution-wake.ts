import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../support/server-process.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { type BenchProvider, startProvider } from './databases.ts';
import { JsonClient } from './json-client.ts';
import { medianNumber, round } from './load.ts';

const HANDLER = 'external';
const SAMPLES_A_ROUND = 5;
/** The waiting call has searched by then; a part is random, so that the polls of a server fall anywhere. */
const SETTLED_MS = 300;
const SPREAD_MS = 5_000;

/** How long a run that one server starts takes to reach a worker that waits at another server of the same database. */
export async function benchExecutionWake({ rounds, providers }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of providers) {
    const provider = await startProvider(name);
    try {
      results[provider.name] = await wakes(provider, rounds * SAMPLES_A_ROUND);
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'execution-wake',
    measures: {
      sameMs:
        'from the request that starts a run to the answered lease of a worker that waits at the same server',
      otherMs: 'the same with a worker that waits at another server process of the same database',
    },
    samples: rounds * SAMPLES_A_ROUND,
    results,
  };
}

async function wakes(provider: BenchProvider, samples: number): Promise<object> {
  const { settings } = await provider.database();
  const given = [UNCHECKED, `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`, ...settings];
  const first = await startServer({}, given);
  const second = await startServer({}, given);
  const [starter, neighbour] = [new JsonClient(first.address), new JsonClient(second.address)];
  const waiter = new JsonClient(first.address);
  try {
    await wake(starter, waiter);
    await wake(starter, neighbour);
    const same: number[] = [];
    const other: number[] = [];
    for (let n = 0; n < samples; n++) {
      same.push(await wake(starter, waiter));
      await pause((SPREAD_MS * n) / samples);
      other.push(await wake(starter, neighbour));
    }
    const figures = (times: readonly number[]) => ({
      p50: round(medianNumber(times)),
      max: round(Math.max(...times)),
    });
    return { about: provider.about, sameMs: figures(same), otherMs: figures(other) };
  } finally {
    for (const client of [starter, neighbour, waiter]) client.close();
    await Promise.all([first.stop(), second.stop()]);
  }
}

async function wake(starter: JsonClient, waiter: JsonClient): Promise<number> {
  const body = { workerId: 'worker', handlerIds: [HANDLER], waitSeconds: 20 };
  const leased = waiter.postJson<{ leaseKey: string; leaseToken: string }>('/execution/workers/leases', body);
  await pause(SETTLED_MS);
  const startedAt = performance.now();
  await starter.post('/execution/runs', { handlerId: HANDLER, payload: 1 });
  const { leaseKey, leaseToken } = await leased;
  const took = performance.now() - startedAt;
  const result = { status: 'succeeded', result: null };
  await waiter.post('/execution/workers/leases/complete', {
    leaseKey,
    leaseToken,
    workerId: 'worker',
    result,
  });
  return took;
}
