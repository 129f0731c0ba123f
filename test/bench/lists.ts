import { DOCUMENTS, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { ListSelection, RecordData, RecordStore } from '../../functions/store/port.ts';
import type { BenchOptions } from './canonical-http.ts';
import { startProvider } from './databases.ts';
import { measure, medianNumber, round } from './load.ts';
import { orderRecord } from './order-records.ts';

const SIZES = [750, 50_000] as const;
const WARMUP_SECONDS = 0.3;
const LIMIT = 20;
const SCOPE = tenantScope('lists');
const AMOUNTS = 10_000_019;

type Asked = Pick<ListSelection, 'equal' | 'range' | 'orderBy'>;

/** Two documents of three are open, one of 200 is rare, and amounts are spread evenly. */
const open = { status: 'open' };
const rare = { rare: 'yes' };
const nearlyAll = { index: 'amount', from: amountOf(100_000), to: amountOf(9_900_000) };
const tenth = { index: 'amount', from: amountOf(100_000), to: amountOf(1_100_000) };

const questions: Readonly<Record<string, Asked>> = {
  'an equality of two thirds': { equal: open },
  'the same, ordered by an index': { equal: open, orderBy: 'amount' },
  'the same and a range of nearly all': { equal: open, range: nearlyAll },
  'the same, ordered by the index of the range': { equal: open, range: nearlyAll, orderBy: 'amount' },
  'the same and a range of a tenth': { equal: open, range: tenth },
  'a range of nearly all': { range: nearlyAll },
  'an equality of one in 200, ordered by an index': { equal: rare, orderBy: 'amount' },
  'two equalities, of two thirds and of one in 200': { equal: { ...open, ...rare } },
};

/** Pages of lists by conditions that match many documents or few, at the port, one client. */
export async function benchLists({ seconds, rounds, providers: chosen }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of chosen.filter((each) => each !== 'firestore')) {
    const provider = await startProvider(name);
    try {
      for (const size of SIZES) {
        const store = await (await provider.database()).open();
        await store.swap(SCOPE, documents(size), () => undefined);
        results[`${name}, ${size} documents`] = await benchStore(store, seconds, rounds);
        await store.close();
      }
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'lists',
    measures: { p50Us: `a page of up to ${LIMIT} documents, microseconds, median of the rounds` },
    results,
  };
}

async function benchStore(store: RecordStore, seconds: number, rounds: number): Promise<object> {
  const times: Record<string, number[]> = {};
  for (const [name, asked] of Object.entries(questions)) {
    const selection = { by: 'list', collection: DOCUMENTS, group: 'order', limit: LIMIT, ...asked } as const;
    const call = async () => void (await store.query(SCOPE, selection));
    for (let n = 0; n < rounds; n += 1) {
      const { p50Ms } = await measure({ clients: 1, seconds, warmupSeconds: WARMUP_SECONDS, call });
      (times[name] ??= []).push(p50Ms * 1000);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, each]) => [name, round(medianNumber(each))]));
}

async function* documents(count: number): AsyncGenerator<RecordData> {
  for (let n = 0; n < count; n += 1)
    yield orderRecord(DOCUMENTS.name, n, {
      status: n % 3 === 0 ? 'closed' : 'open',
      rare: n % 200 === 1 ? 'yes' : 'no',
      amount: amountOf((n * 7_919_003) % AMOUNTS),
    });
}

function amountOf(amount: number): string {
  return String(amount).padStart(8, '0');
}
