import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection, removeCollection } from '../../functions/collections/pointers.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { upsertRecord } from '../../functions/collections/write-records.ts';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import type { BenchOptions } from './canonical-http.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';
import { BareRecords } from './records-bare.ts';
import { BATCH, measureHttp } from './records-http.ts';
import { BENCH_POLICY, KINDS, recordText } from './records-texts.ts';

const WARMUP_SECONDS = 0.5;
const SPACE = 'default';
const NAME = 'bench';
const DELETED = 100_000;
const FOUND = 50;
const LIMITS = { readsPerCallMax: 200_000, pageRecordsMax: 5_000, answerBytesMax: 64 * 1024 * 1024 };

/**
 * Upserts of records of 200 words on SQLite: at the port, one by one and by batches of 100, and over HTTP as jobs, beside
 * `node:sqlite` alone writing the same rows in the same round; a query by an indexed equality; and how soon a collection of
 * 100,000 records is out of sight.
 */
export async function benchRecords({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-records-'));
  const path = join(folder, 'svc.sqlite');
  const store = await openSqliteStore({ path, ...machine, grouping: true, collections: serviceCollections });
  const parts = createRecordParts({ store: () => Promise.resolve(store), world: machine, limits: LIMITS });
  const writer = new Writer(parts);
  try {
    await createCollection(parts, SPACE, readPolicy(BENCH_POLICY));
    for (let n = 0; n < 5; n++) await writer.batch();
    const bare = await BareRecords.open(join(folder, 'bare.sqlite'), path, BATCH * 4);
    const ways: Readonly<Record<string, () => Promise<void> | void>> = {
      'bareBatch@1': () => bare.write(BATCH),
      'portBatch@1': () => writer.batch(),
      'bareSingle@1': () => bare.write(1),
      'portSingle@1': () => writer.single(),
    };
    const figures: Record<string, Measurement[]> = {};
    const ratios: Record<string, number[]> = { batch: [], single: [] };
    for (let n = 0; n < rounds; n++) {
      for (const [name, call] of Object.entries(ways)) {
        const how = { clients: 1, seconds, warmupSeconds: WARMUP_SECONDS };
        (figures[name] ??= []).push(await measure({ ...how, call: async () => call() }));
      }
      const rate = (name: string) => figures[name]?.[n]?.perSecond ?? Number.NaN;
      ratios['batch']?.push(rate('portBatch@1') / rate('bareBatch@1'));
      ratios['single']?.push(rate('portSingle@1') / rate('bareSingle@1'));
    }
    bare.close();
    const shown = Object.fromEntries(
      Object.entries(figures).map(([name, each]) => [name, upserts(medianOf(each), name)]),
    );
    const query = await measureQuery(parts, seconds);
    return {
      bench: 'records',
      measures: {
        portBatch: `writeChunk of ${BATCH} new records of 200 words, one client`,
        portSingle: 'upsertRecord of a new record, one client',
        bare: 'node:sqlite alone writing the same rows, as many in a transaction, flushed to disk',
        http: 'records of jobs of 700 upserts each (a request has at most 1 MiB), from the request to the end of the run, two jobs at once',
        import:
          'records of imports of 4,000 that replace a collection, one after the other, from the request to the end of the run',
        query: `queryRecords by an indexed equality, ${FOUND} records answered`,
        deletion: `of a collection of ${DELETED} records: the call, and the first call after it that finds no collection`,
        ofBare: 'rate beside bare in the same round',
      },
      results: {
        ...shown,
        ofBare: { batch: ratio(ratios['batch']), single: ratio(ratios['single']) },
        http: await measureHttp(seconds, rounds),
        query: { p50Ms: query.p50Ms, p99Ms: query.p99Ms, found: FOUND },
        deletion: await measureDeletion(parts, writer),
      },
    };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const ratio = (values: readonly number[] = []) => round(medianNumber(values));

function upserts({ perSecond, ...times }: Measurement, name: string) {
  return { upsertsPerSecond: round(perSecond * (name.includes('Batch') ? BATCH : 1)), ...times };
}

class Writer {
  readonly #parts: RecordParts;
  count = 0;

  constructor(parts: RecordParts) {
    this.#parts = parts;
  }

  async batch(): Promise<void> {
    const items = Array.from({ length: BATCH }, () => ({ text: recordText(this.count++) }));
    const outcomes = await writeChunk(this.#parts, SPACE, { name: NAME }, items, { continueOnError: false });
    if (outcomes.length !== BATCH || outcomes.some(({ outcome }) => 'error' in outcome))
      throw new Error('a batch was not written whole');
  }

  async single(): Promise<void> {
    await upsertRecord(this.#parts, SPACE, NAME, recordText(this.count++), null);
  }
}

async function measureQuery(parts: RecordParts, seconds: number): Promise<Measurement> {
  return measure({
    clients: 1,
    seconds,
    warmupSeconds: WARMUP_SECONDS,
    async call(_, n) {
      const filter = { path: '/metadata/kind', op: 'eq', value: `kind-${n % KINDS}` };
      const { records } = await queryRecords(parts, SPACE, NAME, { filter, limit: FOUND });
      if (records.length !== FOUND) throw new Error(`the query answered ${records.length} records`);
    },
  });
}

async function measureDeletion(parts: RecordParts, writer: Writer): Promise<object> {
  while (writer.count < DELETED) await writer.batch();
  const startedAt = performance.now();
  await removeCollection(parts, SPACE, NAME);
  const removedMs = performance.now() - startedAt;
  try {
    await queryRecords(parts, SPACE, NAME, { limit: 1 });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'collection_not_found') throw error;
    const invisibleMs = performance.now() - startedAt;
    return { records: writer.count, removedMs: round(removedMs), invisibleMs: round(invisibleMs) };
  }
  throw new Error('the collection is still there');
}
