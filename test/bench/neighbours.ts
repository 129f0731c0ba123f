import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { addressOf, startServer } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { JsonClient } from './json-client.ts';
import { type Measurement, medianNumber, round, summarize } from './load.ts';

/** Runs of another tenant that lie in the store before. */
const RUNS = 6_000;
/** The reader is a service on many addresses: each stays far below the permits of one. */
const READER_ADDRESSES = 200;
const READER_PAUSE_MS = 5;
/** Requests a minute that one address may send, by rate class: a Development server has more by default. */
const LIMITS = {
  production: { Canonical: 120, Execution: 6_000, Public: 600 },
  tight: { Canonical: 120, Execution: 120, Public: 120 },
} as const;
type Limits = Readonly<Record<string, number>>;
const PAUSE_MS = 50;
const SETTINGS = [
  'ExecutionRuntime:ExternalHandlers:0:HandlerId=work',
  'ExecutionRuntime:MaxActiveRuns=100000',
  'ExecutionRuntime:MaxRetainedTerminalRuns=100000',
];

/** A reader's times alone, and beside 20 hostile neighbours on other addresses, under two sets of rate limits. */
export async function benchNeighbours({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-neighbours-'));
  try {
    await preload(folder);
    const production = await measureLimits(folder, LIMITS.production, seconds, rounds);
    const tight = await measureLimits(folder, LIMITS.tight, seconds, rounds);
    return {
      bench: 'neighbours',
      measures: {
        alone: 'reads of a document by one reader, milliseconds',
        beside:
          'the same beside 20 hostile neighbours: lists, starts, refused starts, big bodies, anonymous contract reads',
        ratioP99:
          'beside through alone, medians over the rounds; the aim is at most 2 for neighbours that pause 50 ms',
        residentMb: 'memory of the server before and at its highest beside the neighbours',
        neighbours: 'their answers by status; `lost`: the server ended the connection',
      },
      runsOfAnotherTenant: RUNS,
      pauseMs: PAUSE_MS,
      production,
      tight,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureLimits(
  folder: string,
  limits: Limits,
  seconds: number,
  rounds: number,
): Promise<object> {
  const server = await startLimited(folder, limits);
  try {
    const reader = new Reader(server.address);
    await reader.read(1);
    const residentBefore = await memory(server.child, 'VmRSS');
    const alone: Measurement[] = [];
    const burst: Measurement[] = [];
    const steady: Measurement[] = [];
    let answers = {};
    for (let n = 0; n < rounds; n++) {
      alone.push(await reader.read(seconds));
      // Neighbours of other addresses each round: they have permits again.
      const neighbours = startNeighbours(server.address, `${10 + n}`);
      burst.push(await reader.read(seconds));
      await neighbours.ready;
      steady.push(await reader.read(seconds));
      answers = await neighbours.stop();
    }
    const ratio = (rows: readonly Measurement[]) =>
      round(medianNumber(rows.map(({ p99Ms }, n) => p99Ms / (alone[n]?.p99Ms ?? Number.NaN))));
    return {
      limits,
      alone: times(alone),
      burst: { ...times(burst), ratioP99: ratio(burst) },
      beside: { ...times(steady), ratioP99: ratio(steady) },
      residentMb: { before: residentBefore, highest: await memory(server.child, 'VmHWM') },
      neighbours: answers,
    };
  } finally {
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
  }
}

const times = (rows: readonly Measurement[]) => ({
  p50Ms: medianNumber(rows.map(({ p50Ms }) => p50Ms)),
  p99Ms: medianNumber(rows.map(({ p99Ms }) => p99Ms)),
});

/** Over the limits that keep one address from filling a store: a server of its own, without them. */
async function preload(folder: string): Promise<void> {
  const server = await startServer({ SVC_DATA_DIR: folder }, SETTINGS);
  const client = new JsonClient(server.address);
  const document = { tenantId: 'reader', documentType: 'claim', id: '1', schemaVersion: '1', data: { n: 1 } };
  await client.post('/canonical/tenants/reader/transactions', {
    idempotencyKey: 'preload',
    mutations: [{ operation: 'upsert', document }],
  });
  const scope = { productId: 'reader', tenantId: 'reader' };
  const body = { handlerId: 'work', scope, tags: { mark: 'reader' } };
  const starts = async () => {
    for (let n = 0; n < RUNS / 20; n++) await client.post('/execution/runs', body);
  };
  await Promise.all(Array.from({ length: 20 }, starts));
  client.close();
  await server.stop();
}

/** The embedded server with these rate limits. */
async function startLimited(
  folder: string,
  limits: Limits,
): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const permits = Object.entries(limits).map(
    ([name, count]) => `Server:${name}RateLimit:PermitLimit=${count}`,
  );
  const child = spawn(
    process.execPath,
    ['functions/embedded.ts', ...[...SETTINGS, ...permits].map((setting) => `--${setting}`)],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', SVC_DATA_DIR: folder },
    },
  );
  return { address: await addressOf(child), child };
}

function startNeighbours(address: string, network: string) {
  const given = ['test/bench/neighbours-child.ts', address, String(PAUSE_MS), network];
  const child = spawn(process.execPath, given, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    ready: once(child.stdout, 'data'),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'close');
      return JSON.parse(output.slice('ready\n'.length)) as object;
    },
  };
}

class Reader {
  readonly #target: URL;
  readonly #agents = Array.from(
    { length: READER_ADDRESSES },
    (_, n) => new Agent({ keepAlive: true, localAddress: `127.0.2.${n + 1}` }),
  );
  #next = 0;

  constructor(address: string) {
    this.#target = new URL(address);
  }

  async read(seconds: number): Promise<Measurement> {
    const startedAt = performance.now();
    const took: number[] = [];
    while (performance.now() - startedAt < seconds * 1000) {
      const from = performance.now();
      await this.#once();
      took.push(performance.now() - from);
      await setTimeout(READER_PAUSE_MS);
    }
    return summarize(took, seconds);
  }

  #once(): Promise<void> {
    const agent = this.#agents[this.#next % READER_ADDRESSES];
    this.#next += 1;
    const { hostname, port } = this.#target;
    const path = '/canonical/tenants/reader/documents/claim/1';
    return new Promise((resolve, reject) => {
      request({ ...(agent && { agent }), hostname, port, path }, (answer) => {
        answer.resume();
        answer.once('end', () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`the reader got ${answer.statusCode}`)),
        );
      })
        .once('error', reject)
        .end();
    });
  }
}

async function memory({ pid }: ChildProcess, name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024);
}
