import { tenantScope } from '../../functions/groups/canonical/records.ts';
import type { RecordData } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';
import type { BenchOptions } from './canonical-http.ts';
import { type BenchProvider, startProvider } from './databases.ts';
import { measure, medianNumber, round } from './load.ts';
import { BenchTenant } from './tenant.ts';
import { documentId, TENANT, upsert } from './workload.ts';

const SIZES = [1_000, 100_000, 1_000_000] as const;
const WARMUP_SECONDS = 0.3;
const EVENTS = 20_000;
const LEASE_BATCH = 10;
/** Documents that share an owner, and so the answer to a query for one. */
const OWNED = 20;

/**
 * The growth of costs with a tenant: commit, read, lease and a query of one equality, by one client, at three sizes. Each size has
 * a database of its own, and a round measures all sizes one after another, so that the ratios are of one time.
 */
export async function benchGrowth({ seconds, rounds, providers: chosen }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  // The emulator keeps all in memory; Firestore's growth is counted instead (`test/firestore/bill.test.ts`).
  for (const name of chosen.filter((each) => each !== 'firestore')) {
    const provider = await startProvider(name);
    try {
      results[name] = await benchProvider(provider, seconds, rounds);
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'growth',
    measures: {
      commit: 'one upsert of a random document, one event; p50 in milliseconds at the port, one client',
      read: 'one random document',
      lease: `${LEASE_BATCH} events of ${EVENTS} that are due`,
      query: `one equality on a projected index, ${OWNED} documents`,
      ofSmallest: 'p50 beside that of the smallest tenant, median over the rounds',
    },
    sizes: SIZES,
    results,
  };
}

async function benchProvider(provider: BenchProvider, seconds: number, rounds: number): Promise<object> {
  const tenants = [];
  for (const size of SIZES) {
    const startedAt = performance.now();
    const store = await (await provider.database()).open();
    await store.swap(tenantScope(TENANT), documents(size), () => undefined);
    const tenant = new BenchTenant(store);
    await preloadEvents(tenant);
    const took = Math.round((performance.now() - startedAt) / 1000);
    console.error(`growth: ${provider.name} holds ${size} documents (${took} s)`);
    tenants.push({ size, store, tenant });
  }
  const times: Record<string, number[][]> = {};
  try {
    for (let n = 0; n < rounds; n++) {
      for (const [name, call] of Object.entries(calls)) {
        const row: number[] = [];
        for (const { size, tenant } of tenants) {
          const { p50Ms } = await measure({
            clients: 1,
            seconds,
            warmupSeconds: WARMUP_SECONDS,
            call: () => call(tenant, size),
          });
          row.push(p50Ms);
        }
        (times[name] ??= []).push(row);
      }
    }
  } finally {
    for (const { store } of tenants) await store.close();
  }
  return Object.fromEntries(Object.entries(times).map(([name, rows]) => [name, summary(rows)]));
}

function summary(rows: readonly (readonly number[])[]): object {
  const at = (pick: (row: readonly number[]) => number) => round(medianNumber(rows.map(pick)));
  return {
    p50Ms: SIZES.map((_, index) => at((row) => row[index] ?? Number.NaN)),
    ofSmallest: SIZES.map((_, index) => at((row) => (row[index] ?? Number.NaN) / (row[0] ?? Number.NaN))),
  };
}

const calls: Readonly<Record<string, (tenant: BenchTenant, size: number) => Promise<void>>> = {
  commit(tenant, size) {
    const mutation = upsert(documentId(random(size)));
    const document = { ...mutation.document, indexes: indexesOf(random(size), size) };
    const id = document.id;
    return tenant.commit({
      tenantId: TENANT,
      idempotencyKey: crypto.randomUUID(),
      mutations: [{ ...mutation, document }],
      outbox: [{ topic: 'bench', key: id, payload: { id } }],
    });
  },
  read: (tenant, size) => tenant.read('bench', documentId(random(size))),
  async lease(tenant) {
    // A lease of a moment: the same events are due again, so that the outbox never runs dry.
    const count = await tenant.lease({ consumerId: 'bench', maxItems: LEASE_BATCH, leaseSeconds: 0.001 });
    if (count === 0) throw new Error('the outbox ran dry');
  },
  async query(tenant, size) {
    const { owner } = indexesOf(random(size), size);
    const count = await tenant.query({ indexes: { owner }, limit: 100 });
    if (count === 0) throw new Error('a query found nothing');
  },
};

function random(below: number): number {
  return Math.floor(Math.random() * below);
}

function indexesOf(n: number, size: number) {
  const owner = `owner-${n % Math.ceil(size / OWNED)}`;
  return { owner, updatedAt: `2026-01-01T00:00:00.${String(n).padStart(9, '0')}Z` };
}

/** The records of documents that were written once, in the form of `functions/groups/canonical/document/document.ts`. */
async function* documents(size: number): AsyncIterable<RecordData> {
  const at = '2026-01-01T00:00:00.000Z';
  for (let n = 0; n < size; n++) {
    const { document } = upsert(documentId(n));
    const { documentType, id, schemaVersion } = document;
    yield {
      key: { collection: 'documents', id: recordId(documentType, id) },
      head: {
        documentType,
        id,
        schemaVersion,
        revision: 1,
        deleted: false,
        createdAtUtc: at,
        updatedAtUtc: at,
      },
      body: JSON.stringify(document.data),
      listing: { group: documentType, id, hidden: false, indexes: indexesOf(n, size) },
    };
  }
}

async function preloadEvents(tenant: BenchTenant): Promise<void> {
  for (let at = 0; at < EVENTS; at += 100) {
    const outbox = Array.from({ length: 100 }, (_, n) => ({
      topic: 'bench',
      key: `key-${at + n}`,
      payload: { n: at + n },
    }));
    await tenant.commit({ tenantId: TENANT, idempotencyKey: `events-${at}`, outbox });
  }
}
