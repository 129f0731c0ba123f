import { DOCUMENTS, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import type { BenchOptions } from './canonical-http.ts';
import { startProvider } from './databases.ts';
import { measure, medianNumber, round } from './load.ts';
import { orderRecord } from './order-records.ts';

const SIZES = [1_000, 100_000, 1_000_000] as const;
/** One document in this number matches. */
const ONE_OF = [10_000, 1_000, 100, 10, 3, 1] as const;
const WARMUP_SECONDS = 0.2;
const LIMIT = 20;
const SCOPE = tenantScope('selectivity');
const AMOUNTS = 10_000_019;

/**
 * A page of one equality, ordered by another index or by id, by the share of documents that match, in tenants of three sizes. The
 * time is to depend on neither.
 */
export async function benchSelectivity({ seconds, rounds, providers }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of providers.filter((each) => each !== 'firestore')) {
    const provider = await startProvider(name);
    try {
      for (const size of SIZES) {
        const store = await (await provider.database()).open();
        await store.swap(SCOPE, documents(size), () => undefined);
        console.error(`selectivity: ${name} holds ${size} documents`);
        results[`${name}, ${size} documents`] = await benchStore(store, seconds, rounds);
        await store.close();
      }
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'selectivity',
    measures: {
      p50Us: `a page of up to ${LIMIT} documents, microseconds, median of the rounds: by id, by amount`,
    },
    results,
  };
}

async function benchStore(store: RecordStore, seconds: number, rounds: number): Promise<object> {
  const list = { by: 'list', collection: DOCUMENTS, group: 'order', limit: LIMIT } as const;
  const times: Record<string, number[]> = {};
  for (const share of ONE_OF) {
    const equal = { [`of${share}`]: 'yes' };
    const medians: number[] = [];
    for (const order of [{}, { orderBy: 'amount' }]) {
      const call = async () => void (await store.query(SCOPE, { ...list, equal, ...order }));
      const found: number[] = [];
      for (let n = 0; n < rounds; n += 1) {
        const { p50Ms } = await measure({ clients: 1, seconds, warmupSeconds: WARMUP_SECONDS, call });
        found.push(p50Ms * 1000);
      }
      medians.push(round(medianNumber(found)));
    }
    times[`${100 / share} %`] = medians;
  }
  return times;
}

async function* documents(count: number): AsyncGenerator<RecordData> {
  for (let n = 0; n < count; n += 1) {
    const indexes: Record<string, string> = {
      amount: String((n * 7_919_003) % AMOUNTS).padStart(8, '0'),
    };
    for (const share of ONE_OF) indexes[`of${share}`] = n % share === 0 ? 'yes' : 'no';
    yield orderRecord(DOCUMENTS.name, n, indexes);
  }
}
