import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { addressOf } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { JsonClient } from './json-client.ts';
import { type Measurement, medianNumber, round, summarize } from './load.ts';

const READER_PAUSE_MS = 5;

const SETTINGS = [
  'Server:ValidateResponses=false',
  'Server:CanonicalRateLimit:PermitLimit=100000',
  'Server:ExecutionRateLimit:PermitLimit=1000000',
  'Server:WorkerRateLimit:PermitLimit=1000000',
  'Server:RecordRateLimit:PermitLimit=1000000',
];

/** How long turns of the event loop took, and how much of it the main thread worked. */
export interface Turns {
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly workedP999Ms: number;
  readonly workedP99Ms: number;
  readonly workedMaxMs: number;
}

export interface NeighbourServer {
  readonly client: JsonClient;
  readonly child: ChildProcess;
}

/** One kind of load by another tenant. */
export interface NeighbourKind {
  readonly bench: string;
  /** The load in words. */
  readonly neighbours: string;
  readonly settings: () => Promise<readonly string[]>;
  readonly prepare: (client: JsonClient) => Promise<void>;
  /** Begins the load. The returned function ends it, and gives its counts. */
  readonly begin: (server: NeighbourServer) => Promise<() => Promise<object>>;
  /** Ends the programs of the load. */
  readonly close?: () => void;
}

/** The reads of one tenant alone, and beside a load of one kind. */
export async function benchNeighbour(
  kind: NeighbourKind,
  { seconds, rounds }: BenchOptions,
): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), `svc-bench-${kind.bench}-`));
  const server = await startMonitored(folder, await kind.settings());
  try {
    await preload(server.client);
    await kind.prepare(server.client);
    await read(server, 1);
    const alone: Read[] = [];
    const beside: Read[] = [];
    const openings: Turns[] = [];
    let counts = {};
    for (let n = 0; n < rounds; n += 1) {
      alone.push(await read(server, seconds));
      const end = await kind.begin(server);
      // One more request is answered behind those that opened the load.
      await server.client.send('GET', '/health');
      openings.push(await turnsOf(server.child));
      beside.push(await read(server, seconds));
      counts = await end();
    }
    const [first, second] = [medians(alone), medians(beside)];
    const ratioP50 = round(second.p50Ms / first.p50Ms);
    const ratioP99 = round(second.p99Ms / first.p99Ms);
    return {
      bench: kind.bench,
      measures: {
        alone: 'reads of a document, one each 5 ms, milliseconds',
        beside: `the same beside ${kind.neighbours}`,
        ratioP99: 'beside through alone; the aim is at most 2',
        turns:
          'how long turns of the event loop took, and how much of it the main thread worked, by a timer of one millisecond',
        opening: 'the longest turn until all neighbours had sent their first request',
        neighbours: 'the load of the last round, in counts',
      },
      alone: first,
      beside: { ...second, ratioP50, ratioP99 },
      opening: { workedMaxMs: medianNumber(openings.map(({ workedMaxMs }) => workedMaxMs)) },
      neighbours: counts,
    };
  } finally {
    kind.close?.();
    server.client.close();
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}

/** An embedded server that tells the turns of its event loop. */
export async function startMonitored(folder: string, settings: readonly string[]): Promise<NeighbourServer> {
  const flags = [...SETTINGS, ...settings].map((setting) => `--${setting}`);
  const child = spawn(
    process.execPath,
    ['--import', './test/bench/loop-monitor.ts', 'functions/embedded.ts', ...flags],
    {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', SVC_DATA_DIR: folder },
    },
  );
  return { client: new JsonClient(await addressOf(child)), child };
}

async function preload(client: JsonClient): Promise<void> {
  const document = { tenantId: 'reader', documentType: 'claim', id: '1', schemaVersion: '1', data: { n: 1 } };
  await client.post('/canonical/tenants/reader/transactions', {
    idempotencyKey: 'preload',
    mutations: [{ operation: 'upsert', document }],
  });
}

interface Read extends Measurement {
  readonly turns: Turns;
}

async function read({ client, child }: NeighbourServer, seconds: number): Promise<Read> {
  await turnsOf(child);
  const times: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1000) {
    const askedAt = performance.now();
    await client.send('GET', '/canonical/tenants/reader/documents/claim/1');
    times.push(performance.now() - askedAt);
    await setTimeout(READER_PAUSE_MS);
  }
  const elapsed = (performance.now() - startedAt) / 1000;
  return { ...summarize(times, elapsed), turns: await turnsOf(child) };
}

export async function turnsOf(child: ChildProcess): Promise<Turns> {
  child.send('turns');
  const [turns] = (await once(child, 'message')) as [Turns];
  return turns;
}

function medians(reads: readonly Read[]) {
  const median = (of: (read: Read) => number) => medianNumber(reads.map(of));
  return {
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    turns: {
      p99Ms: median(({ turns }) => turns.p99Ms),
      workedP99Ms: median(({ turns }) => turns.workedP99Ms),
      workedMaxMs: median(({ turns }) => turns.workedMaxMs),
    },
  };
}
