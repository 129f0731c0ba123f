import { parseStrictJson } from '../../functions/kernel/strict-json.ts';
import { shortestCpuMs } from '../support/cpu-time.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';

/** A call: the clock of the processor is too coarse for one. */
const REPEATS = 500;

/** The cost of strict reading of a request body beside `JSON.parse` alone. */
export function benchStrictJson(_options: BenchOptions): Promise<object> {
  const mutations = Array.from({ length: 100 }, (_, n) => ({
    operation: 'upsert',
    document: {
      documentType: 'a',
      id: `d${n}`,
      schemaVersion: '1',
      data: { x: 'y'.repeat(500), n, list: [1, 2, 3] },
      indexes: { a: '1' },
    },
    precondition: { mustNotExist: true },
  }));
  const bytes = Buffer.from(JSON.stringify({ idempotencyKey: 'k', mutations }));
  const strictMs = repeatedMs(() => parseStrictJson(bytes));
  const plainMs = repeatedMs(() => JSON.parse(bytes.toString()));
  return Promise.resolve({
    bench: 'strict-json',
    measures: 'microseconds of the processor to read one commit, strictly and with JSON.parse alone',
    bytes: bytes.length,
    strictUs: round((strictMs * 1000) / REPEATS),
    plainUs: round((plainMs * 1000) / REPEATS),
    ratio: round(strictMs / plainMs),
    limits: { ratio: 3 },
  });
}

function repeatedMs(action: () => unknown): number {
  return shortestCpuMs(5, () => {
    for (let count = 0; count < REPEATS; count += 1) action();
  });
}
