import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { NearestSearch } from '../../functions/store/nearest/nearest-search.ts';
import type { VectorRows, VectorSlotState } from '../../functions/store/nearest/vector-rows.ts';
import { recordId } from '../../functions/store/record-id.ts';
import type { Metric, NearestRequest } from '../../functions/store/search.ts';
import type { BenchOptions } from './canonical-http.ts';
import { kernelBoundMs } from './kernel-bound.ts';
import { round } from './load.ts';

const DIMENSIONS = 384;
const QUERIES = 100;
const BARE_QUERIES = 20;
const TOP = 10;
const CLUSTERS = 1000;

/** A slot in memory, so that the search is measured without a database. */
class RowsInMemory implements VectorRows {
  readonly owner = 'the benchmark';
  readonly #values: Float32Array;
  readonly #ids: readonly string[];
  readonly #places: ReadonlyMap<string, number>;
  vectorsRead = 0;

  constructor(values: Float32Array) {
    this.#values = values;
    this.#ids = Array.from({ length: values.length / DIMENSIONS }, (_, n) => recordId(`${n}`));
    this.#places = new Map(this.#ids.map((id, n) => [id, n]));
  }

  state(): Promise<VectorSlotState> {
    const { length } = this.#ids;
    return Promise.resolve({ slot: 1, version: length, trimmed: 0, rows: length });
  }

  changes(after: number, limit: number) {
    const ids = this.#ids.slice(after, after + limit);
    return Promise.resolve(
      ids.map((id, n) => ({ id, version: after + n + 1, values: this.#bytes(after + n) })),
    );
  }

  vectors(ids: readonly string[]) {
    this.vectorsRead += ids.length;
    return Promise.resolve(new Map(ids.map((id) => [id, this.#bytes(this.#places.get(id)!)])));
  }

  listingIds(ids: readonly string[]) {
    return Promise.resolve(new Map(ids.map((id) => [id, id])));
  }

  among() {
    return Promise.resolve(this.#ids.filter((_, n) => n % 100 === 0).slice(0, 1000));
  }

  #bytes(row: number): Uint8Array {
    return new Uint8Array(this.#values.buffer, 4 * DIMENSIONS * row, 4 * DIMENSIONS);
  }
}

/** The search by vector alone: the time of a search, of a load, its memory, and how long it holds the event loop. */
export async function benchNearest({
  vectors: count,
}: BenchOptions & { readonly vectors: number }): Promise<object> {
  const random = gaussian(19);
  const centers = Float32Array.from({ length: CLUSTERS * DIMENSIONS }, random);
  const clustered = (row: number) => {
    const from = (row % CLUSTERS) * DIMENSIONS;
    return centers.subarray(from, from + DIMENSIONS).map((value) => value + 0.6 * random());
  };
  const plain = () => Float32Array.from({ length: DIMENSIONS }, random);
  return {
    bench: 'nearest',
    measures:
      'milliseconds of an exact search for the 10 nearest, in process, beside bare float32 brute force in one run, and beside the kernel that reads the matrix once and chooses nothing',
    vectors: count,
    dimensions: DIMENSIONS,
    limits: { pauseP99Ms: 10 },
    random: await measure(count, plain),
    clustered: await measure(count, clustered),
  };
}

async function measure(count: number, vectorOf: (row: number) => Float32Array): Promise<object> {
  const values = new Float32Array(count * DIMENSIONS);
  for (let row = 0; row < count; row += 1) values.set(vectorOf(row), row * DIMENSIONS);
  const queries = Array.from({ length: QUERIES }, (_, n) => vectorOf(n));
  const rows = new RowsInMemory(values);
  const search = new NearestSearch({ bytesMax: 2 ** 32, clock: { now: () => Date.now() } });
  const loading = performance.now();
  await search.find(rows, requestOf('cosine', queries[0]!));
  const loadSeconds = (performance.now() - loading) / 1000;
  const bare = queries.slice(0, BARE_QUERIES).map((query) => timed(() => bareSearch(values, query)));
  const pauses = monitorEventLoopDelay({ resolution: 1 });
  await delay(20);
  pauses.enable();
  const cosine = await searches(search, rows, queries, 'cosine');
  pauses.disable();
  const bareP50 = quantile(bare, 0.5);
  const kernelMs = kernelBoundMs(count, (row) => values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS));
  return {
    cosine,
    dotProduct: await searches(search, rows, queries, 'dotProduct'),
    euclidean: await searches(search, rows, queries, 'euclidean'),
    amongOneInHundred: await searches(search, rows, queries, 'cosine', { among: { equal: {} } }),
    bareP50Ms: bareP50,
    ratio: round(cosine.p50Ms / bareP50),
    kernelMs,
    ofKernel: round(cosine.p50Ms / kernelMs),
    pauseP99Ms: round(pauses.percentile(99) / 1e6),
    pauseMaxMs: round(pauses.max / 1e6),
    loadedRowsPerSecond: Math.round(count / loadSeconds),
    bytesPerRow: round(search.bytes / count),
  };
}

async function searches(
  search: NearestSearch,
  rows: RowsInMemory,
  queries: readonly Float32Array[],
  metric: Metric,
  more: Partial<NearestRequest> = {},
) {
  const times: number[] = [];
  rows.vectorsRead = 0;
  for (const query of queries) {
    const began = performance.now();
    await search.find(rows, { ...requestOf(metric, query), ...more });
    times.push(performance.now() - began);
  }
  const rescored = Math.round(rows.vectorsRead / queries.length);
  return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), rescored };
}

function requestOf(metric: Metric, values: Float32Array): NearestRequest {
  const group = 'g';
  return {
    by: 'nearest',
    collection: 'records',
    group,
    slot: '384a',
    metric,
    values,
    limit: TOP,
    readsMax: 1e9,
  };
}

/** The fastest search that plain JavaScript can do: every dot product, and the ten highest. */
function bareSearch(values: Float32Array, query: Float32Array): number[] {
  const best: number[] = [];
  for (let from = 0; from < values.length; from += DIMENSIONS) {
    let sum = 0;
    for (let index = 0; index < DIMENSIONS; index += 1) sum += values[from + index]! * query[index]!;
    if (best.length === TOP && sum <= best[TOP - 1]!) continue;
    best.push(sum);
    best.sort((one, other) => other - one).length = Math.min(best.length, TOP);
  }
  return best;
}

function timed(action: () => unknown): number {
  const began = performance.now();
  action();
  return performance.now() - began;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((one, other) => one - other);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!);
}

/** Normally distributed numbers, about, the same in each run. */
function gaussian(seed: number): () => number {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return () => next() + next() + next() + next() - 2;
}
