import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { startProvider } from './databases.ts';
import { kernelBoundMs } from './kernel-bound.ts';
import { round, summarize } from './load.ts';
import { FIELD, KIND_PATH, printed, SearchTexts, SearchVectors, searchRecord } from './search-data.ts';
import { BATCH, pausesOf, SearchPort } from './search-port.ts';
import { measureSearcher, type SearchTask, SHAPE, TOP, timeCalls } from './search-task.ts';

const NAME = 'bench';
const FIRST_SINGLE = 10_000_000;

/** The request of a search by vector, as callers send it. */
export function vectorRequest(vector: Float32Array, kind: string | null) {
  return {
    vector: { field: FIELD, value: printed(vector), top: TOP },
    limit: TOP,
    ...(kind === null ? {} : { filter: { path: KIND_PATH, op: 'eq', value: kind } }),
  };
}

export function lexicalRequest(words: string) {
  return { lexical: { query: words, top: TOP }, limit: TOP };
}

/** The number in the id of a match, from its text: reading the whole is the work of the caller. */
export function numberOf(match: string): number {
  return Number(/"id":"document-(\d+)"/.exec(match)?.[1]);
}

export async function measureSqlite(task: SearchTask): Promise<object> {
  const path = join(task.folder, 'svc.sqlite');
  return measureStore(task, () =>
    openSqliteStore({ path, ...machine, grouping: true, collections: serviceCollections }),
  );
}

export async function measurePostgres(task: SearchTask): Promise<object> {
  const provider = await startProvider('postgresql');
  try {
    const { settings } = await provider.database();
    const named = 'CanonicalStore:ConnectionString=';
    const connectionString = settings.find((each) => each.startsWith(named))?.slice(named.length) ?? '';
    const options = { connectionString, poolSize: 4, ...machine, collections: serviceCollections };
    return await measureStore(task, async () => openPostgresStore(options));
  } finally {
    await provider.stop();
  }
}

/** Records are written, the store is opened anew, and searches find them. */
async function measureStore(task: SearchTask, open: () => Promise<RecordStore>): Promise<object> {
  const vectors = new SearchVectors(SHAPE);
  const texts = new SearchTexts();
  const writer = await open();
  const first = new SearchPort(writer, NAME);
  await first.create(SHAPE);
  const batches = await first.load({ first: 0, count: task.vectors }, vectors, texts);
  await writer.close();
  const store = await open();
  try {
    const port = new SearchPort(store, NAME);
    const before = process.memoryUsage().rss;
    const anonymousBefore = anonymousBytes();
    const { result: loadMs, pauses: loadPauses } = await pausesOf(() => firstSearch(port, vectors));
    const rssPerRow = (process.memoryUsage().rss - before) / task.vectors;
    const anonymousPerRow = (anonymousBytes() - anonymousBefore) / task.vectors;
    const searched = await measureSearcher(task, {
      async nearest(vector, kind) {
        return (await port.search(vectorRequest(vector, kind))).map(numberOf);
      },
      lexical: async (words) => (await port.search(lexicalRequest(words))).length,
    });
    const { pauses } = await pausesOf(() => vectorSearches(port, vectors, task.queries));
    return {
      write: writeFigures(batches, task.vectors),
      load: {
        seconds: round(loadMs / 1000),
        rowsPerSecond: Math.round((1000 * task.vectors) / loadMs),
        ...loadPauses,
        // With the pages of the database's file that the system has mapped for the process, and takes back at will.
        rssBytesPerRow: Math.round(rssPerRow),
        // The memory of the process itself, including garbage of the load that was not collected yet.
        anonymousBytesPerRow: Math.round(anonymousPerRow),
      },
      ...searched,
      kernelMs: kernelBoundMs(task.vectors, (row) => vectors.of(row)),
      pauses,
      // Last: they are found as others are.
      single: await singleUpserts(port, task.singles),
    };
  } finally {
    await store.close();
  }
}

/** Memory of the process that is no part of a file. 0 on systems without `/proc`. */
function anonymousBytes(): number {
  if (!existsSync('/proc/self/status')) return 0;
  const kibibytes = /RssAnon:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return 1024 * Number(kibibytes ?? 0);
}

function writeFigures(batches: readonly number[], count: number) {
  const { p50Ms, p99Ms } = summarize(batches, 1);
  const seconds = batches.reduce((sum, each) => sum + each, 0) / 1000;
  const tail = batches.slice(Math.floor((3 * batches.length) / 4));
  const tailSeconds = tail.reduce((sum, each) => sum + each, 0) / 1000;
  return {
    upsertsPerSecond: Math.round(count / seconds),
    lastQuarterPerSecond: Math.round((tail.length * Math.min(BATCH, count)) / tailSeconds),
    batchP50Ms: p50Ms,
    batchP99Ms: p99Ms,
  };
}

async function singleUpserts(port: SearchPort, count: number) {
  const vectors = new SearchVectors(SHAPE);
  const texts = new SearchTexts();
  const given = Array.from({ length: count }, (_, n) => {
    const record = FIRST_SINGLE + n;
    return JSON.stringify(searchRecord(record, texts.of(record), vectors.of(record)));
  });
  return timeCalls(count, (n) => port.upsert(given[n]!));
}

async function firstSearch(port: SearchPort, vectors: SearchVectors): Promise<number> {
  const request = vectorRequest(vectors.query(0), null);
  const began = performance.now();
  await port.search(request);
  return performance.now() - began;
}

async function vectorSearches(port: SearchPort, vectors: SearchVectors, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await port.search(vectorRequest(vectors.query(n), null));
}
