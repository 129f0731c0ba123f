import { rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { releasedVersion } from '../system/released-server.ts';
import type { BenchOptions } from './canonical-http.ts';
import { medianNumber, round } from './load.ts';
import {
  checkoutProgram,
  FloorServer,
  frozenProgram,
  HANDLER,
  type Lease,
  type Program,
} from './request-floor-server.ts';
import { documentId, TENANT } from './workload.ts';

/** Unless `--rounds` gives another count. */
export const FLOOR_ROUNDS = 5;
/** The number of requests under way: a server that finds the next one waiting neither sleeps nor loses its caches. */
const CLIENTS = 10;
/** The servers take turns after this number of requests, so that other load on the machine affects all of them. */
const CHUNK = 100;
/** Odd, so that one chunk is the median. */
const CHUNKS = 25;
/** Compilers are done with the hot functions after this number of chunks of each operation. */
const WARMUP_CHUNKS = 25;
const DOCUMENTS = 1_000;
/** The time that a server has for work after its last answer, which counts as well. */
const SETTLE_MS = 5;
const IDLE_MS = 1_000;

/** An operation; `prepare` makes what its calls use up and is not counted. */
interface Operation {
  readonly prepare?: (server: FloorServer) => Promise<void>;
  readonly call: (server: FloorServer, n: number) => Promise<unknown>;
}

const CANONICAL = `/canonical/tenants/${TENANT}`;

const operations: Readonly<Record<string, Operation>> = {
  health: { call: ({ client }) => client.send('GET', '/health') },
  commit: { call: ({ client }, n) => client.post(`${CANONICAL}/transactions`, commitOf(n)) },
  /** Reads documents that the previous chunk of commits wrote. */
  read: {
    call: ({ client }, n) =>
      client.post(`${CANONICAL}/documents/read`, { documentType: 'bench', id: documentId(n % DOCUMENTS) }),
  },
  lease: {
    prepare: ({ client }) => times(CHUNK, () => client.post('/execution/runs', { handlerId: HANDLER })),
    async call({ client, leases }) {
      const { leaseKey, leaseToken } = await client.postJson<Lease>('/execution/workers/leases', {
        workerId: 'w',
        handlerIds: [HANDLER],
      });
      leases.push({ leaseKey, leaseToken, workerId: 'w' });
    },
  },
  complete: {
    call: ({ client, leases }) => {
      const body = { ...leases.shift(), result: { status: 'succeeded', result: { n: 1 } } };
      return client.post('/execution/workers/leases/complete', body);
    },
  },
};

/** The n-th commit of a server: a small document in the turn of its id. */
function commitOf(n: number): object {
  const id = documentId(n % DOCUMENTS);
  const document = { tenantId: TENANT, documentType: 'bench', id, schemaVersion: '1', data: { n } };
  return { idempotencyKey: `commit-${n}`, mutations: [{ operation: 'upsert', document }] };
}

async function times(count: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** Figures of one round by server. */
type Costs = Readonly<Record<string, number>>;

interface Round {
  /** Processor microseconds of a request in each chunk, by operation and server. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
  /** Processor milliseconds of a second without requests. */
  readonly idle: Costs;
}

/**
 * Processor time of the server for each request: of this checkout, of the last release, and of the checkout `before`. Each
 * round is a pair of fresh processes, because two processes with one code differ by what their compilers chose.
 */
export async function benchRequestFloor({ rounds }: BenchOptions, before?: string): Promise<object> {
  const programs: Record<string, Program> = { frozen: frozenProgram() };
  const [loadBefore = 0] = loadavg();
  const bundles: string[] = [];
  const measured: Round[] = [];
  try {
    for (const [name, checkout] of Object.entries({ before, now: '.' })) {
      if (checkout === undefined) continue;
      programs[name] = await checkoutProgram(checkout);
      bundles.push(programs[name].folder);
    }
    for (let n = 0; n < rounds; n++) measured.push(await measureRound(programs));
  } finally {
    for (const folder of bundles) await rm(folder, { recursive: true, force: true });
  }
  return {
    bench: 'request-floor',
    measures: {
      microseconds:
        'processor time of the server for a request, all threads, user and system: the median of the chunks, then of the rounds',
      ofFrozen: `now through the server of ${releasedVersion}: median, least and most of the ratios of the rounds, and the ratio of the medians`,
      ofBefore: 'the same through the checkout of --before; at most 1.03 for a change of the request path',
      idle: 'processor milliseconds of the server in a second without requests, medians',
    },
    requests: `${CLIENTS} kept-alive connections, ${CHUNK * CHUNKS} requests of each operation, server and round; the servers take turns after ${CHUNK}`,
    load: [loadBefore, loadavg()[0] ?? 0].map(round),
    ...figuresOf(measured, Object.keys(programs)),
  };
}

async function measureRound(programs: Readonly<Record<string, Program>>): Promise<Round> {
  const servers = new Map<string, FloorServer>();
  try {
    for (const [name, program] of Object.entries(programs))
      servers.set(name, await FloorServer.start(program));
    await measureChunks(servers, 0, WARMUP_CHUNKS);
    const requests = await measureChunks(servers, WARMUP_CHUNKS, CHUNKS);
    return { requests, idle: await measureIdle(servers) };
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

/**
 * Chunks `first` to `first + count`, of each operation by each server, in an order that changes from chunk to chunk.
 */
async function measureChunks(servers: ReadonlyMap<string, FloorServer>, first: number, count: number) {
  const chunks: Record<string, Record<string, number[]>> = {};
  for (let chunk = first; chunk < first + count; chunk++) {
    for (const [operation, { prepare, call }] of Object.entries(operations)) {
      for (const [name, server] of orderOf([...servers], chunk)) {
        await prepare?.(server);
        const cost = await costOf(server, () => times(CHUNK, (n) => call(server, chunk * CHUNK + n)));
        ((chunks[operation] ??= {})[name] ??= []).push((cost * 1000) / CHUNK);
      }
    }
  }
  return chunks;
}

/** An order in which each server goes first, and follows each other server, equally often. */
export function orderOf<T>(servers: readonly T[], chunk: number): readonly T[] {
  const first = Math.floor(chunk / 2) % servers.length;
  const turned = [...servers.slice(first), ...servers.slice(0, first)];
  return chunk % 2 === 0 ? turned : turned.toReversed();
}

/** Processor milliseconds of the server while `work` is done. */
async function costOf(server: FloorServer, work: () => Promise<unknown>): Promise<number> {
  await setTimeout(SETTLE_MS);
  const before = server.processorMs();
  await work();
  await setTimeout(SETTLE_MS);
  return server.processorMs() - before;
}

async function measureIdle(servers: ReadonlyMap<string, FloorServer>): Promise<Costs> {
  const costs = [...servers].map(
    async ([name, server]) => [name, await costOf(server, () => setTimeout(IDLE_MS))] as const,
  );
  return Object.fromEntries(await Promise.all(costs));
}

/**
 * Medians, and the ratios of `now` to every other server. A ratio is taken between chunks that follow one another; the median of
 * a round leaves out those that other work on the machine met.
 */
export function figuresOf(rounds: readonly Round[], names: readonly string[]): object {
  const results = Object.keys(rounds[0]?.requests ?? {}).map((operation) => {
    const each = (name: string) => rounds.map(({ requests }) => requests[operation]?.[name] ?? []);
    const microseconds = mediansOf(names, (name) => each(name).map(medianNumber));
    const ratios = names
      .filter((name) => name !== 'now')
      .map((name) => [name === 'frozen' ? 'ofFrozen' : 'ofBefore', ratioOf(each('now'), each(name))]);
    return [operation, { microseconds, ...Object.fromEntries(ratios) }];
  });
  const idle = mediansOf(names, (name) => rounds.map((costs) => costs.idle[name] ?? Number.NaN));
  return { results: Object.fromEntries(results), idle };
}

function mediansOf(names: readonly string[], each: (name: string) => readonly number[]): Costs {
  return Object.fromEntries(names.map((name) => [name, round(medianNumber(each(name)))]));
}

type Chunks = readonly (readonly number[])[];

function ratioOf(now: Chunks, other: Chunks): object {
  const ratios = now.map((chunks, n) =>
    medianNumber(chunks.map((cost, chunk) => cost / (other[n]?.[chunk] ?? Number.NaN))),
  );
  const medians = [now, other].map((rounds) => medianNumber(rounds.map(medianNumber)));
  return {
    median: round(medianNumber(ratios)),
    min: round(Math.min(...ratios)),
    max: round(Math.max(...ratios)),
    ofMedians: round((medians[0] ?? Number.NaN) / (medians[1] ?? Number.NaN)),
  };
}
