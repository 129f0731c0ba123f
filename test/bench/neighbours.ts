import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { limits } from '../../contracts/generated/limits.ts';
import { addressOf, startServer } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { JsonClient } from './json-client.ts';
import { type Measurement, medianNumber, round, summarize } from './load.ts';

/** Runs of another tenant that lie in the store before. */
const RUNS = 6_000;
/** The reader is a service on many addresses: each stays far below the permits of one. */
const READER_ADDRESSES = 200;
const READER_PAUSE_MS = 5;
/** Requests a minute that one address may send, by rate class, as in Production. A Development server has more by default. */
const LIMITS = {
  Canonical: limits.rateLimitPermitsDefault,
  Execution: limits.executionRateLimitPermitsDefault,
  Worker: limits.workerRateLimitPermitsDefault,
  Public: limits.publicRateLimitPermitsDefault,
};
const PAUSE_MS = 50;
const CHRT = '/usr/bin/chrt';
/** Neighbours have their permits again in each window, so one whole window is measured. */
const WINDOW_MS = limits.rateLimitWindowSecondsDefault * 1000;
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
    const measured = await measureRounds(folder, seconds, rounds);
    return {
      bench: 'neighbours',
      measures: {
        alone: 'reads of a document by one reader, milliseconds',
        beside:
          'the same in one whole window of the rate limits, beside 20 hostile neighbours: lists, starts, refused starts, big bodies, anonymous contract reads',
        ratioP99: 'beside through alone, medians over the rounds; the aim is at most 2 for `beside`',
        burst: 'the reads of a window while the neighbours use their permits',
        afterwards: 'the other reads of the window',
        residentMb: 'memory of the server before and at its highest beside the neighbours',
        neighbours: 'their answers by status; `lost`: the server ended the connection',
      },
      runsOfAnotherTenant: RUNS,
      pauseMs: PAUSE_MS,
      limits: LIMITS,
      ...measured,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureRounds(folder: string, seconds: number, rounds: number): Promise<object> {
  const server = await startLimited(folder);
  try {
    const reader = new Reader(server.address);
    await reader.read(1000);
    const schedule = await schedulingOfNeighbours();
    const residentBefore = await memory(server.child, 'VmRSS');
    const alone: Measurement[] = [];
    const beside: Measurement[] = [];
    const burst: Measurement[] = [];
    const afterwards: Measurement[] = [];
    let answers = {};
    for (let n = 0; n < rounds; n++) {
      alone.push(summarizeReads(await reader.read(seconds * 1000)));
      // Neighbours of other addresses each round: all of them have their permits.
      const neighbours = startNeighbours(server.address, `${10 + n}`, schedule);
      let readyAt = Infinity;
      void neighbours.ready.then(() => {
        readyAt = performance.now();
      });
      await neighbours.started;
      const reads = await reader.read(WINDOW_MS);
      answers = await neighbours.stop();
      beside.push(summarizeReads(reads));
      burst.push(summarizeReads(reads.filter(({ at }) => at < readyAt)));
      afterwards.push(summarizeReads(reads.filter(({ at }) => at >= readyAt)));
    }
    const ratio = (rows: readonly Measurement[]) =>
      round(medianNumber(rows.map(({ p99Ms }, n) => p99Ms / (alone[n]?.p99Ms ?? Number.NaN))));
    return {
      alone: times(alone),
      beside: { ...times(beside), ratioP99: ratio(beside) },
      burst: { ...times(burst), ratioP99: ratio(burst) },
      afterwards: { ...times(afterwards), ratioP99: ratio(afterwards) },
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

/** The embedded server with the rate limits of Production. */
async function startLimited(
  folder: string,
): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const permits = Object.entries(LIMITS).map(
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

/**
 * The neighbours would be on other machines: they get only what server and reader leave. A process of the lowest priority may
 * still keep a core for milliseconds when another wakes; one of the class idle does not. Under `chrt --rr 10` the neighbours
 * run below server and reader but before all other work of the machine, which then neither slows them nor the reader.
 */
export async function schedulingOfNeighbours(): Promise<readonly string[]> {
  if (!existsSync(CHRT)) return [];
  const stat = await readFile('/proc/self/stat', 'utf8');
  // Behind the name of the program in brackets, whose next field is the third: the 41st is the class.
  const policy = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[41 - 3];
  return policy === '1' || policy === '2' ? [CHRT, '--rr', '1'] : [CHRT, '--idle', '0'];
}

function startNeighbours(address: string, network: string, schedule: readonly string[]) {
  const given = ['test/bench/neighbours-child.ts', address, String(PAUSE_MS), network];
  const [command, ...first] = [...schedule, process.execPath];
  const child = spawn(command, [...first, ...given], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    /** The first neighbours ask. */
    started: once(child, 'spawn'),
    /** All have used their permits. */
    ready: once(child.stdout, 'data'),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'close');
      return JSON.parse(output.slice('ready\n'.length)) as object;
    },
  };
}

/** A read of the document: when it began, and how long it took. */
interface Read {
  readonly at: number;
  readonly tookMs: number;
}

function summarizeReads(reads: readonly Read[]): Measurement {
  const elapsedMs = (reads.at(-1)?.at ?? 0) - (reads[0]?.at ?? 0);
  return summarize(
    reads.map(({ tookMs }) => tookMs),
    elapsedMs / 1000,
  );
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

  async read(milliseconds: number): Promise<Read[]> {
    const until = performance.now() + milliseconds;
    const reads: Read[] = [];
    for (;;) {
      const at = performance.now();
      if (at >= until) return reads;
      await this.#once();
      reads.push({ at, tookMs: performance.now() - at });
      await setTimeout(READER_PAUSE_MS);
    }
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
