import { RUNS, readRun, runKey, runRecord } from '../../functions/runs/records.ts';
import type { RecordData } from '../../functions/store/port.ts';
import type { BenchOptions } from './canonical-http.ts';
import { BenchRuntime, echo } from './execution-runtime.ts';
import { measure, medianNumber, round } from './load.ts';

const SIZES = [100, 10_000, 100_000] as const;
const CLIENTS = 50;
const WARMUP_SECONDS = 0.3;
const LIST_LIMIT = 50;

/** The cost that retained runs add to new ones: runs a second, and lists, beside three amounts of retained runs. */
export async function benchExecutionGrowth({ seconds, rounds }: BenchOptions): Promise<object> {
  const figures: Record<string, number[][]> = {};
  for (let n = 0; n < rounds; n++) await measureRound(figures, seconds);
  return {
    bench: 'execution-growth',
    measures: {
      sizes: 'ended runs that are in the store before; what is measured comes on top',
      runs1: 'runs per second, handler in process, one client',
      runs50: `the same with ${CLIENTS} clients`,
      listMs: `the newest ${LIST_LIMIT} runs; p50 in milliseconds`,
      listByStatusMs: `the newest ${LIST_LIMIT} of one handler that have succeeded`,
      listByTagMs: 'the one run that has a tag',
      ofSmallest: 'beside the smallest size, median over the rounds',
    },
    sizes: SIZES,
    results: Object.fromEntries(Object.entries(figures).map(([name, rows]) => [name, summary(rows)])),
  };
}

/** New runtimes each round: the runs that are measured stay too, and would soon be more than the smallest size says. */
async function measureRound(figures: Record<string, number[][]>, seconds: number): Promise<void> {
  const runtimes: BenchRuntime[] = [];
  try {
    for (const size of SIZES) runtimes.push(await retaining(size));
    for (const [name, one] of Object.entries(measurements)) {
      const row: number[] = [];
      for (const runtime of runtimes) row.push(await one(runtime, seconds));
      (figures[name] ??= []).push(row);
    }
  } finally {
    for (const runtime of runtimes) await runtime.close();
  }
}

type Measured = (runtime: BenchRuntime, seconds: number) => Promise<number>;

const measurements: Readonly<Record<string, Measured>> = {
  listMs: (runtime, seconds) => listMs(runtime, seconds, {}, LIST_LIMIT),
  listByStatusMs: (runtime, seconds) =>
    listMs(runtime, seconds, { handlerId: 'echo', status: 'succeeded' }, LIST_LIMIT),
  listByTagMs: (runtime, seconds) => listMs(runtime, seconds, { 'tag.rare': 'yes' }, 1),
  runs1: (runtime, seconds) => runsPerSecond(runtime, 1, seconds),
  runs50: (runtime, seconds) => runsPerSecond(runtime, CLIENTS, seconds),
};

async function runsPerSecond(runtime: BenchRuntime, clients: number, seconds: number): Promise<number> {
  const call = () => runtime.run('echo');
  return (await measure({ clients, seconds, warmupSeconds: WARMUP_SECONDS, call })).perSecond;
}

async function listMs(
  runtime: BenchRuntime,
  seconds: number,
  filter: Parameters<BenchRuntime['client']['list']>[0],
  expected: number,
): Promise<number> {
  const call = async () => {
    const runs = await runtime.client.list({ ...filter, limit: LIST_LIMIT });
    if (runs.length !== expected) throw new Error(`the list has ${runs.length} runs`);
  };
  return (await measure({ clients: 1, seconds, warmupSeconds: WARMUP_SECONDS, call })).p50Ms;
}

/** A runtime whose store has `size` ended runs, each with the record that a real run left. */
async function retaining(size: number): Promise<BenchRuntime> {
  const runtime = await BenchRuntime.open([echo]);
  const { client, store, instance } = runtime;
  const { id } = await client.start({ handlerId: 'echo', payload: { n: 1 } });
  await runtime.ended(id);
  const { scope, ids } = instance.runtime;
  const found = await store.query(scope, { by: 'keys', keys: [{ key: runKey(id), view: 'body' }] });
  const [model] = found.records;
  if (model?.key.collection !== RUNS.name) throw new Error('the run left no record');
  const run = readRun(model, id);
  async function* records(): AsyncGenerator<RecordData> {
    for (let n = 0; n < size; n++) {
      const own = ids.next();
      yield runRecord({ ...run, id: own, correlationId: own, tags: n === 0 ? { rare: 'yes' } : {} });
    }
  }
  await store.swap(scope, records(), () => undefined);
  console.error(`execution-growth: ${size} runs are retained`);
  return runtime;
}

function summary(rows: readonly (readonly number[])[]): object {
  const at = (pick: (row: readonly number[]) => number) => round(medianNumber(rows.map(pick)));
  return {
    values: SIZES.map((_, index) => at((row) => row[index] ?? Number.NaN)),
    ofSmallest: SIZES.map((_, index) => at((row) => (row[index] ?? Number.NaN) / (row[0] ?? Number.NaN))),
  };
}
