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

/** As many as one space may have active, of which 16 are at work. */
const JOBS = 25;
const RECORDS = 4_000;
const CASES = 200;
const READER_PAUSE_MS = 5;
const COLLECTION = 'library';

const SETTINGS = [
  'Server:ValidateResponses=false',
  'Server:CanonicalRateLimit:PermitLimit=100000',
  'Server:ExecutionRateLimit:PermitLimit=1000000',
  'Server:RecordRateLimit:PermitLimit=1000000',
];

interface Turns {
  readonly p99Ms: number;
  readonly workedP99Ms: number;
  readonly workedMaxMs: number;
}

interface Server {
  readonly client: JsonClient;
  readonly child: ChildProcess;
}

/** The reads of one tenant alone, and while 25 evaluations of another space are at work as jobs. */
export async function benchNeighbourJobs({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-neighbour-jobs-'));
  const server = await start(folder);
  try {
    await preload(server.client);
    await read(server, 1);
    const alone: Read[] = [];
    const beside: Read[] = [];
    for (let n = 0; n < rounds; n += 1) {
      alone.push(await read(server, seconds));
      const jobs = await Promise.all(Array.from({ length: JOBS }, () => evaluation(server.client)));
      beside.push(await read(server, seconds));
      await Promise.all(jobs.map((id) => cancel(server.client, id)));
    }
    const { p99Ms: p99Alone, ...restAlone } = medians(alone);
    const { p99Ms, ...rest } = medians(beside);
    return {
      bench: 'neighbour-jobs',
      measures: {
        alone: 'reads of a document, one each 5 ms, milliseconds',
        beside: `the same beside ${JOBS} jobs of another space that evaluate ${CASES} searches each`,
        ratioP99: 'beside through alone; the aim is at most 2',
        turns:
          'how long turns of the event loop took, and how much of it the main thread worked, by a timer of one millisecond',
      },
      alone: { ...restAlone, p99Ms: p99Alone },
      beside: { ...rest, p99Ms, ratioP99: round(p99Ms / p99Alone) },
    };
  } finally {
    server.client.close();
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}

async function start(folder: string): Promise<Server> {
  const flags = SETTINGS.map((setting) => `--${setting}`);
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

const WORDS = 'policy claim damage water garage roof invoice estimate witness report settled reserve'.split(
  ' ',
);

async function preload(client: JsonClient): Promise<void> {
  const document = { tenantId: 'reader', documentType: 'claim', id: '1', schemaVersion: '1', data: { n: 1 } };
  await client.post('/canonical/tenants/reader/transactions', {
    idempotencyKey: 'preload',
    mutations: [{ operation: 'upsert', document }],
  });
  await done(client, '/collections', { name: COLLECTION });
  for (let at = 0; at < RECORDS; at += 100) {
    const records = Array.from({ length: 100 }, (_, n) => recordOf(at + n));
    await done(client, `/collections/${COLLECTION}/records/batch`, { records });
  }
}

function recordOf(n: number): object {
  const words = Array.from({ length: 60 }, (_, at) => `${WORDS[(n * 7 + at * at) % WORDS.length]}${at % 5}`);
  return { id: `${n}`, partitionKey: 'p', type: 'note', content: { text: words.join(' ') } };
}

/** Starts a job, and gives its id. */
async function evaluation(client: JsonClient): Promise<string> {
  const cases = Array.from({ length: CASES }, (_, n) => {
    const query = `${WORDS[n % WORDS.length]}${n % 5} ${WORDS[(n * 5 + 1) % WORDS.length]}${(n + 2) % 5}`;
    return {
      name: `case ${n}`,
      request: { query, collections: [COLLECTION], limit: 50 },
      expected: [{ id: `${n}` }],
    };
  });
  const path = `/retrieval/evaluate/jobs`;
  return (await client.postJson<{ id: string }>(path, { cases })).id;
}

async function done(client: JsonClient, path: string, body: object): Promise<void> {
  const { id } = await client.postJson<{ id: string }>(path, body);
  for (;;) {
    const { status } = await client.getJson<{ status: string }>(`/execution/runs/${id}?waitSeconds=20`);
    if (status === 'succeeded') return;
    if (status !== 'queued' && status !== 'running') throw new Error(`the run ${id} is ${status}`);
  }
}

async function cancel(client: JsonClient, id: string): Promise<void> {
  await client.send('DELETE', `/retrieval/evaluate/jobs/${id}`);
  await client.getJson(`/execution/runs/${id}?waitSeconds=20`);
}

interface Read extends Measurement {
  readonly turns: Turns;
}

async function read({ client, child }: Server, seconds: number): Promise<Read> {
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

async function turnsOf(child: ChildProcess): Promise<Turns> {
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
