import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../support/server-process.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { BareJobs, type Job } from './execution-bare.ts';
import { BenchRuntime, echo } from './execution-runtime.ts';
import { JsonClient } from './json-client.ts';
import { type Measurement, measure, medianNumber, round } from './load.ts';
import { processorMs } from './processor.ts';
import { BenchServer } from './server.ts';

const CLIENTS = [1, 50] as const;
const WARMUP_SECONDS = 0.5;
export const HANDLER = 'external';

interface Figure extends Measurement {
  /** Processor time of the process that holds the runs, for each run; `null` where the machine does not report it. */
  readonly cpuMs: number | null;
}

type Figures = Record<string, Figure[]>;

/** Something that carries runs from their start to their durable result, one a call. */
interface Subject {
  readonly name: string;
  readonly run: (client: number) => Promise<void>;
  /** Processor time of its process so far. */
  readonly cpuMs: () => number | null;
}

/**
 * Runs from their start to their durable result: by a handler in process, and by a worker over HTTP and JSON (start, lease,
 * complete; or start, complete with the next lease), each beside a bare job table in the same round. Figures are medians over the rounds.
 */
export async function benchExecution({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-jobs-'));
  const single = new BareJobs(join(folder, 'single.sqlite'), false);
  const grouped = new BareJobs(join(folder, 'grouped.sqlite'), true);
  const runtime = await BenchRuntime.open([echo]);
  const server = await BenchServer.start([
    UNCHECKED,
    `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`,
    // With combined calls each client holds one run beside the one that it starts.
    'ExecutionRuntime:MaxActiveRuns=1000',
  ]);
  const combined = combinedLifecycle(server.client);
  const bareServer = await startBareServer(join(folder, 'server.sqlite'));
  const own = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  const subjects: readonly Subject[] = [
    { name: 'bare', run: () => single.run(), cpuMs: own },
    { name: 'bareGrouped', run: () => grouped.run(), cpuMs: own },
    { name: 'inProcess', run: () => runtime.run('echo'), cpuMs: own },
    {
      name: 'bareHttp',
      run: () => bareLifecycle(bareServer.client),
      cpuMs: () => processorMs(bareServer.pid),
    },
    { name: 'http', run: () => lifecycle(server.client), cpuMs: () => processorMs(server.pid) },
    { name: 'httpCombined', run: combined, cpuMs: () => processorMs(server.pid) },
  ];
  const figures: Figures = {};
  try {
    for (let n = 0; n < rounds; n++) {
      for (const clients of CLIENTS) {
        for (const subject of subjects) {
          (figures[`${subject.name}@${clients}`] ??= []).push(await figureOf(subject, clients, seconds));
        }
      }
    }
  } finally {
    single.close();
    grouped.close();
    bareServer.stop();
    await Promise.all([runtime.close(), server.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
  return report(figures);
}

async function figureOf({ run, cpuMs }: Subject, clients: number, seconds: number): Promise<Figure> {
  await measure({ clients, seconds: WARMUP_SECONDS, warmupSeconds: 0, call: run });
  let runs = 0;
  const before = cpuMs();
  const call = async (client: number) => {
    await run(client);
    runs += 1;
  };
  const measured = await measure({ clients, seconds, warmupSeconds: 0, call });
  const after = cpuMs();
  return { ...measured, cpuMs: before === null || after === null ? null : round((after - before) / runs) };
}

interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
}

/** The requests of one run and its worker: three. With several under way each worker completes the run that it leased. */
export async function lifecycle(client: JsonClient): Promise<void> {
  await startRun(client);
  const { path, body } = completion(await leaseRun(client));
  await client.post(path, body);
}

/** Two requests a run: each client completes the run that it holds, and gets its next one with the answer. */
export function combinedLifecycle(client: JsonClient): (worker: number) => Promise<void> {
  const held = new Map<number, Lease>();
  return async (worker) => {
    await startRun(client);
    const lease = held.get(worker);
    const leaseNext = { handlerIds: [HANDLER], ttlSeconds: TTL_SECONDS };
    let next: Lease | undefined;
    if (lease !== undefined) {
      const { path, body } = completion(lease);
      ({ next } = await client.postJson<{ readonly next?: Lease }>(path, { ...body, leaseNext }));
    }
    // The first of a client, or another client has taken the run that it started.
    held.set(worker, next ?? (await leaseRun(client)));
  };
}

/** Leases are held from round to round. */
const TTL_SECONDS = 3_600;

async function startRun(client: JsonClient): Promise<void> {
  await client.post('/execution/runs', { handlerId: HANDLER, payload: { n: 1 } });
}

async function leaseRun(client: JsonClient): Promise<Lease> {
  const wish = { workerId: 'worker', handlerIds: [HANDLER], ttlSeconds: TTL_SECONDS, waitSeconds: 5 };
  const lease = await client.post('/execution/workers/leases', wish);
  if (lease === '') throw new Error('there is no run to lease');
  return JSON.parse(lease) as Lease;
}

function completion({ leaseKey, leaseToken }: Lease) {
  const result = { status: 'succeeded', result: { n: 1 } };
  return {
    path: '/execution/workers/leases/complete',
    body: { leaseKey, leaseToken, workerId: 'worker', result },
  };
}

async function bareLifecycle(client: JsonClient): Promise<void> {
  await client.post('/start', { payload: { n: 1 } });
  const { id, token } = await client.postJson<Job & { readonly token: string }>('/lease', { worker: 'w' });
  await client.post('/complete', { id, token, result: { n: 1 } });
}

async function startBareServer(path: string) {
  const script = join(import.meta.dirname, 'execution-bare-server.ts');
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const client = new JsonClient(await addressOf(child));
  return {
    client,
    pid: child.pid,
    stop() {
      client.close();
      child.kill('SIGTERM');
    },
  };
}

const beside: Readonly<Record<string, string>> = {
  bare: 'bareGrouped',
  bareGrouped: 'bareGrouped',
  inProcess: 'bareGrouped',
  bareHttp: 'bareHttp',
  http: 'bareHttp',
  httpCombined: 'bareHttp',
};

/** Ratios are taken within a round and then the median of them, so that what else the machine does falls on both. */
function report(figures: Figures): object {
  const results: Record<string, object> = {};
  for (const [name, rounds] of Object.entries(figures)) {
    const [subject = '', clients = ''] = name.split('@');
    const limit = figures[`${beside[subject]}@${clients}`] ?? [];
    const middle = (pick: (figure: Figure) => number | null) =>
      round(medianNumber(rounds.map((figure) => pick(figure) ?? Number.NaN)));
    results[name] = {
      perSecond: middle((figure) => figure.perSecond),
      p50Ms: middle((figure) => figure.p50Ms),
      p99Ms: middle((figure) => figure.p99Ms),
      cpuMs: middle((figure) => figure.cpuMs),
      ofBare: round(
        medianNumber(rounds.map((figure, n) => figure.perSecond / (limit[n]?.perSecond ?? Number.NaN))),
      ),
    };
  }
  return {
    bench: 'execution',
    measures: {
      bare: 'a job table in node:sqlite, three transactions a run, synchronous=FULL; runs per second',
      bareGrouped:
        'the same, all changes that wait sharing one transaction; what the in-process lines are held against',
      inProcess: 'start and wait for the result of a handler in the same process, through the operations',
      bareHttp: 'start, lease, complete over node:http and JSON on the grouped job table in another process',
      http: 'start, lease, complete over HTTP on the embedded server in another process',
      httpCombined: 'the same, where each completion asks for the next run: start, complete',
      cpuMs: 'processor time a run of the process that holds the runs; of HTTP the client is not in it',
    },
    server: { process: 'functions/embedded.ts on SQLite', settings: UNCHECKED },
    client: 'node:http in one process, kept-alive connections, closed loop',
    results,
  };
}
