import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions } from './canonical-http.ts';
import { requireEnd } from './execution-start.ts';
import type { JsonClient } from './json-client.ts';
import { type Measurement, measure, medianNumber } from './load.ts';
import { startMonitored, type Turns, turnsOf } from './neighbour-server.ts';
import { SearchTexts, SearchVectors, searchPolicy, searchRecord } from './search-data.ts';
import { lexicalRequest, vectorRequest } from './search-own.ts';
import { SHAPE } from './search-task.ts';
import { commitBody, documentId, randomDocument, TENANT, upsert } from './workload.ts';

const HANDLER = 'external';
const DOCUMENTS = 2_000;
const RECORDS = 2_000;
const CHUNK = 100;
const SETTINGS = [
  'Server:CanonicalRateLimit:WindowSeconds=1',
  'Server:ExecutionRateLimit:WindowSeconds=1',
  'Server:RecordRateLimit:WindowSeconds=1',
  `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`,
  'ExecutionRuntime:MaxActiveRuns=100000',
];
const CANONICAL = `/canonical/tenants/${TENANT}`;
const COLLECTION = 'bench';
const RECORD_PATH = `/collections/${COLLECTION}`;

const texts = new SearchTexts();
const vectors = new SearchVectors(SHAPE);

/** A kind of work, and the number of clients that do it at once. */
interface Kind {
  readonly clients: number;
  readonly call: (client: JsonClient, count: number) => Promise<unknown>;
}

const kinds: Readonly<Record<string, Kind>> = {
  reads: {
    clients: 4,
    call: (client) =>
      client.post(`${CANONICAL}/documents/read`, { documentType: 'bench', id: randomDocument(DOCUMENTS) }),
  },
  commits: { clients: 4, call: (client) => client.post(`${CANONICAL}/transactions`, commitBody()) },
  queries: {
    clients: 2,
    call: (client) => client.post(`${CANONICAL}/documents/query`, { documentType: 'bench', limit: 20 }),
  },
  lifecycles: { clients: 4, call: lifecycle },
  searches: {
    clients: 1,
    call: (client, count) =>
      client.post(
        `${RECORD_PATH}/search`,
        count % 2 === 0
          ? vectorRequest(vectors.query(count), null)
          : lexicalRequest(texts.of(count).split(' ').slice(0, 3).join(' ')),
      ),
  },
  recordJobs: {
    clients: 1,
    async call(client, count) {
      const { id } = await client.postJson<{ id: string }>(`${RECORD_PATH}/records/batch`, {
        records: recordsFrom((count * CHUNK) % RECORDS),
      });
      await requireEnd(client, id);
    },
  },
};

/** All kinds of work at once on one embedded server: their times, and the turns of its event loop meanwhile. */
export async function benchMixed({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-mixed-'));
  const server = await startMonitored(folder, SETTINGS);
  try {
    const { client, child } = server;
    await preload(client);
    const work: Record<string, Measurement[]> = {};
    const turns: Turns[] = [];
    for (let n = 0; n < rounds; n += 1) {
      await turnsOf(child);
      const measured = Object.entries(kinds).map(async ([name, { clients, call }]) => {
        const done = async (_: number, count: number) => void (await call(client, count));
        (work[name] ??= []).push(
          await measure({ clients, seconds, warmupSeconds: n === 0 ? 2 : 0.2, call: done }),
        );
      });
      await Promise.all(measured);
      turns.push(await turnsOf(child));
    }
    return {
      bench: 'mixed',
      measures: {
        work: 'all kinds at once on one embedded server on SQLite: calls a second and milliseconds, medians',
        turns:
          'how long turns of the event loop took, and how much of it the main thread worked, by a timer of one millisecond',
      },
      clients: Object.fromEntries(Object.entries(kinds).map(([name, { clients }]) => [name, clients])),
      work: Object.fromEntries(Object.entries(work).map(([name, each]) => [name, medians(each)])),
      turns: medians(turns),
    };
  } finally {
    server.client.close();
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}

async function preload(client: JsonClient): Promise<void> {
  for (let from = 0; from < DOCUMENTS; from += CHUNK) {
    const mutations = Array.from({ length: CHUNK }, (_, n) => upsert(documentId(from + n)));
    await client.post(`${CANONICAL}/transactions`, { idempotencyKey: `preload-${from}`, mutations });
  }
  const { id } = await client.postJson<{ id: string }>('/collections', searchPolicy(COLLECTION, SHAPE));
  await requireEnd(client, id);
  for (let from = 0; from < RECORDS; from += CHUNK) {
    const job = await client.postJson<{ id: string }>(`${RECORD_PATH}/records/batch`, {
      records: recordsFrom(from),
    });
    await requireEnd(client, job.id);
  }
}

function recordsFrom(first: number): object[] {
  return Array.from({ length: CHUNK }, (_, n) =>
    searchRecord(first + n, texts.of(first + n), vectors.of(first + n)),
  );
}

async function lifecycle(client: JsonClient): Promise<void> {
  await client.post('/execution/runs', { handlerId: HANDLER, payload: { n: 1 } });
  const lease = await client.post('/execution/workers/leases', {
    workerId: 'w',
    handlerIds: [HANDLER],
    waitSeconds: 5,
  });
  const { leaseKey, leaseToken } = JSON.parse(lease) as { leaseKey: string; leaseToken: string };
  await client.post('/execution/workers/leases/complete', {
    leaseKey,
    leaseToken,
    workerId: 'w',
    result: { status: 'succeeded', result: { n: 1 } },
  });
}

function medians<T extends object>(figures: readonly T[]): object {
  const names = Object.keys(figures[0] ?? {}) as (keyof T)[];
  return Object.fromEntries(
    names.map((name) => [name, medianNumber(figures.map((each) => Number(each[name])))]),
  );
}
